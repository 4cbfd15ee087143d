/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_header.h - what counts of the lines before an answer
 */
#pragma once

#include <stddef.h>

struct http_response;

/*
 * One line with or without its end. A status line begins anew: what came
 * before was of an interim answer or of a proxy. What is malformed or too long
 * counts as not said. Pure.
 */
void http_header_take(const char *line, size_t len,
		      struct http_response *response);
