/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_judge.c - which of several attempts is the best
 */
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/changes.h"
#include "cli/loop_attempts.h"
#include "cli/loop_guest.h"
#include "cli/loop_run.h"

#define BINARY_LINES 100 /* a file without lines counts as so many */

static int overlay_lines(struct sandbox *sandbox, size_t *lines,
			 struct error *err)
{
	static const char *const all[] = { NULL };
	AUTO_CHANGES struct changes changes = CHANGES_INIT;

	if (changes_open(&changes, sandbox, all, err) < 0 ||
	    changes_freeze(&changes, err) < 0 ||
	    changes_load(&changes, err) < 0)
		return -1;
	for (size_t i = 0; i < changes.count; i++) {
		const struct changes_share *one = &changes.shares[i];
		struct diff_source source = { .root = one->root,
					      .set = one->set.fd,
					      .prefix = one->prefix };

		for (size_t j = 0; j < one->list.count; j++) {
			const struct change *change = &one->list.changes[j];
			struct diff_stat stat = { 0 };

			if (text_starts(change->path, ".ralph"))
				continue;
			if (diff_text_print(&source, change, NULL, &stat, err) <
			    0)
				return -1;
			*lines += stat.binary ? BINARY_LINES
					      : stat.added + stat.removed;
		}
	}
	return 0;
}

int loop_judge_lines(struct loop_run *run, size_t *lines, struct error *err)
{
	*lines = 0;
	if (!strcmp(run->sandbox.record.mode, "clone"))
		return loop_guest_diff_lines(run, lines, err);
	return overlay_lines(&run->sandbox, lines, err);
}
