/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - events.jsonl: what happened, one JSON object a line
 *
 * Each line is one O_APPEND write, so that writers need no lock. A confined
 * writer holds the descriptor from events_open(). The file is renamed to
 * events.jsonl.old when it passes 1 MiB (by the CLI, which has the right).
 */
#pragma once

#include <jansson.h>

struct error;

int events_open(struct error *err);
/* details may be NULL; the reference is taken. Failure is only logged. */
void events_write(int fd, const char *event, const char *sandbox,
		  json_t *details);
