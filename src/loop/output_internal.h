/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_internal.h - what the formats do with an event
 */
#pragma once

#include "loop/output.h"

typedef void output_event_fn(struct output *output, const json_t *event);

output_event_fn output_claude, output_codex, output_gemini, output_copilot,
	output_opencode;

/* Takes the place of the message, or of an open one adds to it. */
void output_say(struct output *output, const char *text, size_t len);
void output_add(struct output *output, const char *text, size_t len);
/* What follows is another message. */
void output_act(struct output *output, const char *tool, const json_t *input);
void output_fail(struct output *output, const json_t *text);
/* The agent met trouble and goes on: shown, and forgotten when it gets on. */
void output_trouble(struct output *output, const char *text);
/* Nonsense is no status. */
void output_status(struct output *output, const json_t *status);
void output_tokens(struct output *output, const json_t *usage,
		   const char *in_key, const char *out_key);
/* In dollars; nonsense counts nothing. */
void output_cost(struct output *output, const json_t *dollars);
