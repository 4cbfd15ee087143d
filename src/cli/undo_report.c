/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_report.c - what an undo does, for people and for programs
 *
 * Paths are the guest's choice: they are made printable once, here.
 */
#include "cli/undo_report.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

#define ROWS_MAX 100000
#define SHOWN_BYTES 4096

static const struct {
	const char *key;  /* in JSON */
	const char *verb; /* in a line */
	const char *sum;  /* in the summary */
} kinds[] = {
	[REPLAY_RESTORED] = { "restored", "restore", "restored" },
	[REPLAY_REMOVED] = { "removed", "remove", "removed" },
	[REPLAY_MOVED] = { "renamed", "rename", "renamed" },
	[REPLAY_ATTRIBUTES] = { "attributes", "attributes of",
				"with their "
				"attributes" },
	[REPLAY_CONFLICT] = { "conflicts", "leave alone", "left alone" },
	[REPLAY_FAILED] = { "failed", "cannot undo", "failed" },
	[REPLAY_LOST] = { "lost", "not saved", "not saved" },
};

_Static_assert(ARRAY_SIZE(kinds) == REPLAY_KINDS, "a row for each");

void undo_report_release(struct undo_report *report)
{
	json_decref(report->rows);
	report->rows = NULL;
}

void undo_report_add(struct undo_report *report, enum replay_did did,
		     const char *path, const char *more)
{
	char shown[SHOWN_BYTES], shown_more[SHOWN_BYTES];

	report->counts[did]++;
	if (!report->rows)
		report->rows = json_array();
	if (json_array_size(report->rows) >= ROWS_MAX)
		return;
	text_printable(path, strlen(path), shown, sizeof(shown));
	text_printable(more, strlen(more), shown_more, sizeof(shown_more));
	json_array_append_new(report->rows,
			      json_pack("{s:i, s:s, s:s}", "did", (int)did,
					"path", shown, "more", shown_more));
}

static void print_row(FILE *out, enum replay_did did, const char *path,
		      const char *more)
{
	if (did == REPLAY_MOVED)
		fprintf(out, "rename %s to %s\n", more, path);
	else
		fprintf(out, "%s %s%s%s\n", kinds[did].verb, path,
			*more ? ": " : "", more);
}

void undo_report_print(const struct undo_report *report,
		       enum undo_report_part part)
{
	FILE *out = part == UNDO_REPORT_ALL ? stdout : stderr;
	json_t *row;
	size_t i;

	json_array_foreach(report->rows, i, row)
	{
		const char *path, *more;
		int did;

		if (json_unpack(row, "{s:i, s:s, s:s}", "did", &did, "path",
				&path, "more", &more) < 0)
			continue;
		if (part == UNDO_REPORT_ALL || did >= REPLAY_CONFLICT)
			print_row(out, (enum replay_did)did, path, more);
	}
}

void undo_report_summary(const struct undo_report *report, char *text,
			 size_t size)
{
	size_t at = 0;

	text_copy(text, size, "nothing");
	for (size_t i = 0; i < REPLAY_KINDS; i++) {
		if (!report->counts[i])
			continue;
		text_format(text + at, size - at, "%s%zu %s", at ? ", " : "",
			    report->counts[i], kinds[i].sum);
		at = strlen(text);
	}
}

json_t *undo_report_json(const struct undo_report *report)
{
	json_t *lists[REPLAY_KINDS], *root = json_object(), *row;
	size_t i;

	for (i = 0; i < REPLAY_KINDS; i++) {
		lists[i] = json_array();
		json_object_set_new(root, kinds[i].key, lists[i]);
	}
	json_array_foreach(report->rows, i, row)
	{
		const char *path, *more;
		json_t *one;
		int did;

		if (json_unpack(row, "{s:i, s:s, s:s}", "did", &did, "path",
				&path, "more", &more) < 0)
			continue;
		one = json_pack("{s:s}", "path", path);
		if (*more)
			json_object_set_new(
				one, did == REPLAY_MOVED ? "from" : "reason",
				json_string(more));
		json_array_append_new(lists[did], one);
	}
	return root;
}
