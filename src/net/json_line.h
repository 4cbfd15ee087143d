/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_line.h - one JSON object on one line, without an object in memory
 *
 * A log line for each connection must cost little. What does not fit is left
 * out whole: the line is always valid. Texts may hold any bytes; what is not
 * printable ASCII is escaped byte by byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct json_line {
	char *text; /* borrowed */
	size_t size, len;
};

/* size is at least 4. */
void json_line_begin(struct json_line *line, char *text, size_t size);
/* Nothing when value is NULL. */
void json_line_text(struct json_line *line, const char *key, const char *value);
void json_line_bytes(struct json_line *line, const char *key, const char *value,
		     size_t len);
void json_line_number(struct json_line *line, const char *key, uint64_t value);
void json_line_null(struct json_line *line, const char *key);
/* Returns the length, with the line end. There is no NUL. */
size_t json_line_end(struct json_line *line);
