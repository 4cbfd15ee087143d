/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - the user's own program that answers questions
 *
 * It is no row of the launcher's table and must not inherit the launcher's
 * confinement: any program of the user's may be a hook. So the launcher forks a
 * runner before it gives anything up. The runner knows one path and one
 * environment, both from the start message; it gets questions and gives back
 * one word. Nothing of a guest reaches it but names, addresses and ports that
 * were parsed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct error;

#define HOOK_WORD_SIZE 16
#define HOOK_AT_ONCE 4
#define HOOK_LIMIT_MS 10000

struct hook {
	/* word: the first one that it wrote, "" when there is none. */
	void (*on_answer)(void *ctx, uint32_t id, const char *word);
	void *ctx;

	/* private */
	struct source source; /* owns its descriptor; -1: there is no hook */
	unsigned running;
};

/*
 * settings: {"path", "env"} or JSON null. Call it before any isolation and
 * before anything is opened that the runner should not have: the runner keeps
 * no descriptor but its own, and the log.
 */
int hook_start(struct hook *hook, const json_t *settings, struct error *err);
int hook_watch(struct hook *hook, struct loop *loop, struct error *err);
/* False: there is no hook, or it is busy. question is borrowed. */
bool hook_ask(struct hook *hook, uint32_t id, const json_t *question);
void hook_close(struct hook *hook);

/*
 * The first word of what a hook wrote: letters a to z only, "" when it is
 * anything else. Pure.
 */
void hook_first_word(const void *bytes, size_t len, char word[HOOK_WORD_SIZE]);
