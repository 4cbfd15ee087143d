/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_config.h - the network's settings of a sandbox (PROTOCOL.md §5)
 *
 * From its record, the policy files, and at a start from the user's environment
 * and config folder too.
 */
#pragma once

#include <jansson.h>

struct error;
struct sandbox;

/* How long a connection waits for an answer of the user. */
#define NET_CONFIG_ASK_MS 30000
/* In the config folder: the user's program that is asked first. */
#define NET_CONFIG_HOOK_FILE "ask-hook"

/* For a machine that runs: what can be changed then. Caller owns it. */
json_t *net_config_make(const struct sandbox *sandbox, struct error *err);
/* For a start. A socket on which Docker answers is an error. */
json_t *net_config_start(const struct sandbox *sandbox, struct error *err);

/* "KEY=VALUE" of what a program of the user's gets to know. */
json_t *net_config_hook_env(void);

/*
 * {"http", "https", "no_proxy"} of variables as curl reads them; get is
 * getenv(), or a test's.
 */
json_t *net_config_proxy(char *(*get)(const char *name));
