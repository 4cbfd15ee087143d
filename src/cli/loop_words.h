/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_words.h - what a guest answers to a loop, and which attempt is the best
 *
 * All of it is pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A time in nanoseconds and names of files, each ended by a NUL. *files is a
 * list without the loop's own files, printable, and the caller's. -1: no time.
 */
int loop_words_files(const char *bytes, size_t len, uint64_t *now,
		     json_t **files);
/*
 * The name of a file and its content. *file is static, and NULL when there is
 * nothing; returns where the content begins, or -1.
 */
long loop_words_tasks(const char *bytes, size_t len, const char **file);
/* A number in a line of its own. */
int loop_words_number(const char *bytes, size_t len, size_t *number);

/*
 * The place of the smallest change among those that are complete (code 0);
 * count when there is none.
 */
size_t loop_words_choose(const int *codes, const size_t *lines, size_t count);
/* What the command says where none is complete. */
int loop_words_code(const int *codes, size_t count);
