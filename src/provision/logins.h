/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.h - the login for a registry, from where docker and podman keep it
 *
 * $REGISTRY_AUTH_FILE, docker's config.json, containers/auth.json, in this
 * order; where one names a credential helper, that program is run, by us and
 * never by a process that talks to strangers.
 */
#pragma once

struct error;
struct login;

/* LOGIN_NONE when nobody knows one. A file that is damaged is only logged. */
int logins_find(const char *host, struct login *login, struct error *err);
