/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h - what an agent is told in one iteration
 *
 * A template has {{prompt}}, {{iteration}}, {{max_iterations}}, {{task}},
 * {{tasks}}, {{context}}, {{feedback}}, {{struggle}} and {{promises}}; other
 * braces stay as they are. What is put in is not looked at again: a task whose
 * title has braces is only text.
 */
#pragma once

#include <stddef.h>

struct buffer;
struct error;
struct promise_words;
struct task_list;

#define PROMPT_MAX ((size_t)1024 * 1024)

struct prompt_parts {
	const char *prompt;
	unsigned iteration, max_iterations;
	const struct task_list *tasks; /* may be NULL */
	const char *tasks_file;        /* where the agent finds them */
	const char *context;           /* "" for none; of the user */
	const char *feedback;          /* "" for none; of the last iteration */
	const char *struggle;          /* "" for none */
	const struct promise_words *words;
};

extern const char prompt_default[];

/* template NULL: prompt_default. -1: too long. */
int prompt_make(const char *template, const struct prompt_parts *parts,
		struct buffer *out, struct error *err);
