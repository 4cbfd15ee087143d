/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_file.h - policy text, line by line
 *
 * A line is a rule, `default allow|deny`, `preset NAME` or nothing; `#` at the
 * start of a word begins a comment. Nothing is copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

#define POLICY_LINE_MAX 4096
#define POLICY_PRESET_NAME_MAX 64

enum policy_line_kind {
	POLICY_LINE_BLANK, /* or a comment only */
	POLICY_LINE_RULE,
	POLICY_LINE_DEFAULT,
	POLICY_LINE_PRESET,
};

struct policy_line {
	enum policy_line_kind kind;
	unsigned number;   /* from 1 */
	const char *start; /* all of it, with its line feed */
	size_t size;
	const char *content; /* without spaces around it and the comment */
	size_t len;
	bool allow;         /* of POLICY_LINE_DEFAULT */
	const char *preset; /* of POLICY_LINE_PRESET; not NUL-terminated */
	size_t preset_len;
};

struct policy_file {
	const char *at, *end;
	unsigned number;
};

struct policy_file policy_file_of(const char *text, size_t len);
/* 1, or 0 at the end, or -1; a rule itself is not looked at. */
int policy_file_next(struct policy_file *file, struct policy_line *line,
		     struct error *err);
