/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_facts.h - what an iteration changed, and where it went in the network
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/blocked.h"
#include "undo/journal.h"

struct sandbox;

struct loop_facts {
	struct blocked_mark net;
	char label[JOURNAL_LABEL_MAX + 1]; /* for `bawn undo --to`; "": none */
};

void loop_facts_begin(struct loop_facts *facts, const struct sandbox *sandbox,
		      unsigned iteration);
/*
 * Adds "files", "files_count", "egress" and "undo" to the record. True when
 * the workspace changed, but for the loop's own files.
 */
bool loop_facts_end(const struct loop_facts *facts,
		    const struct sandbox *sandbox, json_t *record);
/* Connections that were denied since; for who watches. */
unsigned loop_facts_denied(const struct loop_facts *facts,
			   const struct sandbox *sandbox);
