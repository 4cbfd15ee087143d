/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_mask.h - placeholders of secrets out of the files of a sandbox
 *
 * Agents keep what they find in their variables, whole or the end of it. A
 * placeholder opens nothing in another sandbox, but it is one sandbox's.
 */
#pragma once

#include <stddef.h>

struct error;
struct sandbox;

/* Asterisks in the place of each one, so that no length changes; how many. */
size_t save_mask_bytes(void *bytes, size_t len, const char *placeholder);
/* In a file that is open for reading and writing: all that the sandbox has. */
int save_mask_file(int fd, const struct sandbox *sandbox, struct error *err);
