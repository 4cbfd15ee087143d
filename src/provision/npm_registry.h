/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm_registry.h - which npm registry the user has
 */
#pragma once

struct buffer;
struct error;

/*
 * Its address, malloc'd: npm_config_registry of the environment, the user's
 * ~/.npmrc, or what npm itself says where it is installed. A project's .npmrc
 * does not count: the workspace may be anybody's. folder: npm may write there.
 */
char *npm_registry_find(const char *folder, struct error *err);
/* Pure. The last "registry=" of an .npmrc, malloc'd; NULL: it has none. */
char *npm_registry_parse(const char *text);
