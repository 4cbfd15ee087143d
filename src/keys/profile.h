/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-keys gives up
 */
#pragma once

struct error;
struct server_config;

/* The store's folder and the services stay readable; nothing else. */
int profile_enter(const struct server_config *config, struct error *err);
