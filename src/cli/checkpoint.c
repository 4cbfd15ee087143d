/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c - states of a sandbox that it can go back to: their names and
 * what is in their folders
 */
#include "cli/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/resume.h"
#include "cli/store.h"
#include "state/snapshot.h"

#define CURRENT CHECKPOINT_FOLDER "/.current"
#define RECORD_BYTES_MAX 4096
#define BLOCK 512

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(dir, DIR *, closedir)

int checkpoint_label_check(const char *label, struct error *err)
{
	size_t len = strlen(label);

	if (len >= 1 && len <= CHECKPOINT_LABEL_MAX && label[0] != '.' &&
	    label[0] != '-' &&
	    strspn(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "0123456789._-") == len)
		return 0;
	return error_set(err, EINVAL,
			 "%s: a label is up to %d letters, digits, \".\", "
			 "\"_\" and \"-\", and begins with a letter or digit",
			 label, CHECKPOINT_LABEL_MAX);
}

int checkpoint_place_ok(const char *place)
{
	if (strcmp(place, RESUME_ORIGIN) == 0)
		return 0;
	if (!text_starts(place, CHECKPOINT_FOLDER "/"))
		return -1;
	return checkpoint_label_check(place + strlen(CHECKPOINT_FOLDER "/"),
				      NULL);
}

int checkpoint_give_nodes(const struct sandbox *sandbox, const char *place,
			  struct error *err)
{
	AUTO_CLOSE int folder =
		openat(sandbox->folder, place,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int from = -1;
	AUTO_CLOSE int to = -1;

	if (folder < 0)
		return error_set(err, errno, "%s", place);
	from = openat(folder, CHECKPOINT_NODES,
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "nodes");
	to = openat(sandbox->folder, CHECKPOINT_NODES,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (to < 0)
		return error_set(err, errno, "nodes");
	return fileio_copy_sparse(from, to, err);
}

static void count_bytes(int folder, struct checkpoint *checkpoint)
{
	static const char *const names[] = { SNAPSHOT_RAM, SNAPSHOT_STATE,
					     SNAPSHOT_DISK, CHECKPOINT_NODES };
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t bytes;

		if (fstatat(folder, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes = (uint64_t)st.st_blocks * BLOCK;
		checkpoint->bytes += bytes;
		checkpoint->freed += st.st_nlink == 1 ? bytes : 0;
	}
}

/* We wrote it ourselves; what does not fit was damaged. */
static int parse(const struct buffer *text, struct checkpoint *checkpoint)
{
	AUTO(json)
	json_t *root = json_loadb((const char *)text->data, text->len,
				  JSON_REJECT_DUPLICATES, NULL);
	const char *parent, *mark;
	json_int_t created;
	int memory, automatic;

	if (!root ||
	    json_unpack(root, "{s:s, s:s, s:b, s:b, s:I !}", "parent", &parent,
			"mark", &mark, "memory", &memory, "automatic",
			&automatic, "created", &created) < 0 ||
	    strlen(parent) > CHECKPOINT_LABEL_MAX ||
	    strlen(mark) >= sizeof(checkpoint->mark))
		return -1;
	text_copy(checkpoint->parent, sizeof(checkpoint->parent), parent);
	text_copy(checkpoint->mark, sizeof(checkpoint->mark), mark);
	checkpoint->memory = memory;
	checkpoint->automatic = automatic;
	checkpoint->created = created;
	return 0;
}

int checkpoint_find(const struct sandbox *sandbox, const char *label,
		    struct checkpoint *checkpoint, struct error *err)
{
	AUTO_FREE char *path = xasprintf("%s/%s", CHECKPOINT_FOLDER, label);
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RECORD_BYTES_MAX);
	AUTO_CLOSE int folder = -1;

	*checkpoint = (struct checkpoint){ 0 };
	if (checkpoint_label_check(label, err) < 0)
		return -1;
	folder = openat(sandbox->folder, path,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return error_set(
			err, errno,
			"%s has no checkpoint %s (see `bawn checkpoint "
			"ls %s`)",
			sandbox->record.name, label, sandbox->record.name);
	if (fileio_read(folder, CHECKPOINT_FILE, &text, err) < 0)
		return error_prefix(err, "checkpoint %s", label);
	if (parse(&text, checkpoint) < 0)
		return error_set(
			err, EBADMSG,
			"checkpoint %s: " CHECKPOINT_FILE " is damaged", label);
	text_copy(checkpoint->label, sizeof(checkpoint->label), label);
	count_bytes(folder, checkpoint);
	return 0;
}

static int by_age(const void *one, const void *other)
{
	const struct checkpoint *a = one, *b = other;

	if (a->created != b->created)
		return a->created < b->created ? -1 : 1;
	return strcmp(a->label, b->label);
}

int checkpoint_list(const struct sandbox *sandbox, struct checkpoint **list,
		    size_t *count, struct error *err)
{
	int fd = openat(sandbox->folder, CHECKPOINT_FOLDER,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	*list = NULL;
	*count = 0;
	if (!dir)
		return fd < 0 && errno == ENOENT
			       ? 0
			       : error_set(err, errno, CHECKPOINT_FOLDER);
	while ((entry = readdir(dir))) {
		struct checkpoint one;

		if (entry->d_name[0] == '.' ||
		    checkpoint_find(sandbox, entry->d_name, &one, NULL) < 0)
			continue;
		*list = xrealloc(*list, (*count + 1) * sizeof(**list));
		(*list)[(*count)++] = one;
	}
	if (*count)
		qsort(*list, *count, sizeof(**list), by_age);
	return 0;
}

int checkpoint_remove(const struct sandbox *sandbox, const char *label,
		      struct error *err)
{
	AUTO_CLOSE int folder =
		openat(sandbox->folder, CHECKPOINT_FOLDER,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FREE char *gone = xasprintf(".gone-%s", label);

	if (checkpoint_label_check(label, err) < 0)
		return -1;
	if (folder < 0 || faccessat(folder, label, F_OK, 0) < 0)
		return error_set(err, ENOENT, "%s has no checkpoint %s",
				 sandbox->record.name, label);
	/* Out of sight at once: half of one must never be restored. */
	fileio_remove_tree(folder, gone, NULL);
	if (renameat(folder, label, folder, gone) < 0)
		return error_set(err, errno, "checkpoint %s", label);
	return fileio_remove_tree(folder, gone, err);
}

int checkpoint_set_current(const struct sandbox *sandbox, const char *label,
			   struct error *err)
{
	return fileio_replace(sandbox->folder, CURRENT, label, strlen(label),
			      0600, 0, err);
}
