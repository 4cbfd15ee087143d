/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_report.h - what an undo does, for people and for programs
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "undo/replay.h"

struct undo_report {
	json_t *rows; /* owned: [{"did", "path", "more"}] */
	size_t counts[REPLAY_KINDS];
};

enum undo_report_part {
	UNDO_REPORT_ALL,
	UNDO_REPORT_TROUBLE, /* what is not undone */
};

void undo_report_release(struct undo_report *report);
void undo_report_add(struct undo_report *report, enum replay_did did,
		     const char *path, const char *more);
/* A line for each. */
void undo_report_print(const struct undo_report *report,
		       enum undo_report_part part);
/* "3 restored, 1 removed" */
void undo_report_summary(const struct undo_report *report, char *text,
			 size_t size);
/* {"restored": [...], ..., "done": bool}; the caller owns it. */
json_t *undo_report_json(const struct undo_report *report);
