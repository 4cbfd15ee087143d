/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_make.c - a new checkpoint: its label, its record, its place
 */
#include "cli/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint_internal.h"
#include "cli/store.h"

AUTO_DEFINE(json, json_t *, json_decref)

static void making_close(struct making *making)
{
	if (making->folder >= 0)
		close(making->folder);
	if (making->parent >= 0 && making->name[0])
		fileio_remove_tree(making->parent, making->name, NULL);
	if (making->parent >= 0)
		close(making->parent);
	if (making->machine >= 0)
		close(making->machine);
	if (making->control >= 0)
		close(making->control);
}
AUTO_DEFINE(making, struct making *, making_close)

static int making_open(struct making *making, struct error *err)
{
	int sandbox = making->sandbox->folder;

	if (mkdirat(sandbox, CHECKPOINT_FOLDER, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, CHECKPOINT_FOLDER);
	making->machine =
		checkpoint_open_dir(sandbox, SANDBOX_MACHINE_FOLDER, err);
	making->parent = checkpoint_open_dir(sandbox, CHECKPOINT_FOLDER, err);
	if (making->machine < 0 || making->parent < 0)
		return -1;
	sandbox_temporary_name(making->name);
	if (mkdirat(making->parent, making->name, 0700) < 0)
		return error_set(err, errno, CHECKPOINT_FOLDER);
	making->folder = checkpoint_open_dir(making->parent, making->name, err);
	return making->folder < 0 ? -1 : 0;
}

static void choose_label(const struct sandbox *sandbox,
			 const struct checkpoint_wish *wish,
			 struct checkpoint *record)
{
	const char *prefix = wish->prefix ? wish->prefix : "";
	struct checkpoint other;
	time_t now = time(NULL);
	struct tm date;
	char when[32];

	record->automatic = !wish->label;
	record->created = now;
	if (wish->label) {
		text_copy(record->label, sizeof(record->label), wish->label);
		return;
	}
	localtime_r(&now, &date);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &date);
	for (int i = 0; i < 100; i++) {
		text_format(record->label, sizeof(record->label), "%s%s",
			    prefix, when);
		if (i)
			text_format(record->label + strlen(record->label), 8,
				    ".%d", i);
		if (checkpoint_find(sandbox, record->label, &other, NULL) < 0)
			return;
	}
}

static void find_parent(const struct sandbox *sandbox,
			struct checkpoint *record)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CHECKPOINT_LABEL_MAX + 2);
	struct checkpoint parent;

	if (fileio_read(sandbox->folder, CHECKPOINT_FOLDER "/.current", &text,
			NULL) == 0 &&
	    buffer_append(&text, "", 1) == 0 &&
	    checkpoint_find(sandbox, (const char *)text.data, &parent, NULL) ==
		    0)
		text_copy(record->parent, sizeof(record->parent), parent.label);
}

static int finish(struct making *making, struct error *err)
{
	const struct checkpoint *record = &making->record;
	AUTO(json)
	json_t *json = json_pack("{s:s, s:s, s:b, s:b, s:I}", "parent",
				 record->parent, "mark", record->mark, "memory",
				 record->memory, "automatic", record->automatic,
				 "created", (json_int_t)record->created);
	AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);

	/* Not before: whoever works in the sandbox would wait for the disk. */
	if (checkpoint_sync_file(making->folder, CHECKPOINT_SHARES, err) < 0 &&
	    err->code != ENOENT)
		return -1;
	if (!text || fileio_replace(making->folder, CHECKPOINT_FILE, text,
				    strlen(text), 0600, FILEIO_SYNC, err) < 0)
		return -1;
	if (renameat2(making->parent, making->name, making->parent,
		      record->label, RENAME_NOREPLACE) < 0)
		return error_set(err, errno, "checkpoint %s", record->label);
	making->name[0] = '\0';
	fsync(making->parent);
	return checkpoint_set_current(making->sandbox, record->label, err);
}

/* Of a kind that nobody named the oldest make room; a parent's children are
 * whole. */
static void prune(const struct sandbox *sandbox, const char *kind, size_t len,
		  size_t kept)
{
	AUTO_FREE struct checkpoint *list = NULL;
	size_t count, automatic = 0;

	if (checkpoint_list(sandbox, &list, &count, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		list[i].automatic &= !strncmp(list[i].label, kind, len);
		automatic += list[i].automatic;
	}
	for (size_t i = 0; i < count && automatic > kept; i++) {
		if (list[i].automatic &&
		    checkpoint_remove(sandbox, list[i].label, NULL) == 0)
			automatic--;
	}
}

int checkpoint_make(const struct sandbox *sandbox,
		    const struct checkpoint_wish *wish,
		    struct checkpoint_made *made, struct error *err)
{
	struct making content = { .sandbox = sandbox,
				  .wish = wish,
				  .control = -1,
				  .machine = -1,
				  .parent = -1,
				  .folder = -1 };
	AUTO(making) struct making *making = &content;
	const char *label = wish->label;
	struct checkpoint other;

	if (label && checkpoint_label_check(label, err) < 0)
		return -1;
	if (label && checkpoint_find(sandbox, label, &other, NULL) == 0)
		return error_set(err, EEXIST, "%s has a checkpoint %s already",
				 sandbox->record.name, label);
	choose_label(sandbox, wish, &making->record);
	find_parent(sandbox, &making->record);
	if (making_open(making, err) < 0)
		return -1;
	if (checkpoint_copy_unsynced(sandbox->folder, CHECKPOINT_SHARES,
				     making->folder, CHECKPOINT_SHARES,
				     err) < 0 &&
	    err->code != ENOENT)
		return -1;
	if (checkpoint_take(making, err) < 0 || finish(making, err) < 0)
		return -1;
	text_copy(made->label, sizeof(made->label), making->record.label);
	made->pause_ms = making->pause_ms;
	if (wish->prefix)
		prune(sandbox, wish->prefix, strcspn(wish->prefix, "-") + 1,
		      wish->kept);
	return 0;
}
