/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - values that a program of the user's tells
 *
 * The programs run outside, where they can do what the user can: in a process
 * that the launcher made before it gave anything up. It is told which secret,
 * and looks the command up in the store by itself. An answer is kept for the
 * secret's time, then asked for again; when that fails the old one goes on.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct error;
struct secret;

#define COMMANDS_MAX 256
#define COMMANDS_RETRY_MS 60000
#define COMMANDS_LIMIT_MS 70000

struct command_value {
	char *name, *scope, *command; /* owned */
	struct secret *value;         /* owned; NULL: none yet */
	bool running, failed, wanted;
	uint32_t id;     /* of the question that is under way */
	uint64_t due_ms; /* when it is to be asked again, or given up */
	uint64_t cache_ms;
};

struct commands {
	struct loop *loop;
	struct source runner; /* fd -1: there is none */
	struct timer timer;
	struct command_value list[COMMANDS_MAX];
	size_t count;
	uint32_t last_id;
	void (*on_change)(void *ctx); /* a value came, or did not */
	void *ctx;
};

/* fd is borrowed; -1: no command can run. */
int commands_init(struct commands *commands, struct loop *loop, int fd,
		  struct error *err);
/* Before a list of bindings is gone through, and after: others are forgotten.
 */
void commands_begin(struct commands *commands);
void commands_end(struct commands *commands);
/*
 * The value of a binding with a command; NULL: there is none now, and *why says
 * so (static). Asks for it where that is due.
 */
const struct secret *commands_value(struct commands *commands,
				    const json_t *binding, const char *scope,
				    const char **why);
/* One is asked for the first time. */
bool commands_waiting(const struct commands *commands);
void commands_release(struct commands *commands);
