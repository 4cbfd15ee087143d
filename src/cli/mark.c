/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - marks in what a running sandbox changes, for `bawn undo`
 */
#include "cli/mark.h"

#include <jansson.h>

#include "cli/launcher.h"
#include "undo/segment.h"

int mark_set(const struct sandbox *sandbox, const char *label,
	     struct error *err)
{
	return launcher_ask(
		sandbox, json_pack("{s:s, s:s}", "op", "mark", "label", label),
		err);
}

int mark_set_now(const struct sandbox *sandbox, const char *prefix,
		 struct error *err)
{
	char label[JOURNAL_LABEL_MAX + 1];

	segment_label_now(prefix, label, sizeof(label));
	return mark_set(sandbox, label, err);
}
