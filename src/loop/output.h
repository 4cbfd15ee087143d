/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - what an agent prints, as it comes
 *
 * One line is one event in the formats of the agents' own. These bytes are a
 * guest's: lines and messages are bounded, an event that is not as it must be
 * is passed over, and nothing is shown as it came. An agent's last message is
 * what it says after its last tool; in OUTPUT_TEXT it is the end of the text,
 * without an echo of the prompt.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum output_format {
	OUTPUT_TEXT,
	OUTPUT_CLAUDE,
	OUTPUT_CODEX,
	OUTPUT_GEMINI,
	OUTPUT_COPILOT,
	OUTPUT_OPENCODE,

	OUTPUT_FORMATS,
};

#define OUTPUT_LINE_MAX ((size_t)4 * 1024 * 1024)
#define OUTPUT_MESSAGE_MAX ((size_t)256 * 1024)
#define OUTPUT_ERRORS_MAX ((size_t)8 * 1024)
#define OUTPUT_TEXT_LINES 20 /* of the end count in OUTPUT_TEXT */

struct output {
	enum output_format format;
	struct buffer line;    /* private: one that is not whole yet */
	bool skipping;         /* private: the rest of a line too long */
	struct buffer message; /* the last message so far */
	bool message_open;     /* private: the next part belongs to it */
	struct buffer errors;  /* the end of stderr */
	bool ended;            /* the agent's own result was seen */
	bool failed;           /* ... and says that it failed */
	bool waiting;          /* all it says is that it has no network */
	int status;            /* ... of HTTP, where it says; 0: unknown */
	char error[400];       /* printable; "" when nothing was said */
	char action[100];      /* printable: the last thing it did */
	unsigned actions;
	uint64_t tokens_in, tokens_out, cost_micros;
	unsigned calls;     /* turns of the model, where it says */
	uint64_t call_hash; /* private: of the one counted last */
};

void output_init(struct output *output, enum output_format format);
void output_release(struct output *output);
static inline void output_auto(struct output *output)
{
	output_release(output);
}
#define AUTO_OUTPUT __attribute__((cleanup(output_auto)))

/* Some more of stdout; any pieces. */
void output_feed(struct output *output, const void *bytes, size_t len);
void output_feed_errors(struct output *output, const void *bytes, size_t len);
/* After the last piece. An echo of the prompt is no message of a text agent. */
void output_finish(struct output *output, const char *prompt);

/* -1: no such name. */
int output_format_of(const char *name, enum output_format *format);
const char *output_format_name(enum output_format format);
