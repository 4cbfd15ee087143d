/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_base.c - what the changes of a sandbox stand on
 */
#include "cli/changes_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "tree/tree_open.h"

#define CHUNK (256u * 1024)
#define RECORD_MAX (8u * 1024)

struct sieve {
	const struct changes_share *one;
	struct base_list *list;        /* gets what is touched */
	const struct base_list *fresh; /* paths that are left out */
	struct buffer out;
	int fd;
	bool failed;
};

static bool touched(const struct change_set *set, const char *path)
{
	return change_set_find(set, path) || change_set_covers(set, path);
}

static int keep_touched(void *ctx, const struct base_record *record)
{
	struct sieve *sieve = ctx;

	if (touched(&sieve->one->set, record->path))
		base_list_add(sieve->list, record);
	return 0;
}

static int each_of(const struct changes *changes, unsigned number,
		   const char *ending,
		   int (*take)(void *ctx, const struct base_record *record),
		   void *ctx, struct error *err)
{
	char name[CHANGES_NAME_MAX];
	AUTO_CLOSE int fd = -1;

	changes_name(name, number, ending);
	fd = openat(changes->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "%s", name);
	if (base_each(fd, take, ctx, err) < 0)
		return error_prefix(err, "%s", name);
	return 0;
}

int changes_load_base(const struct changes *changes, struct changes_share *one,
		      struct error *err)
{
	struct sieve sieve = { .one = one, .list = &one->base };

	base_list_release(&one->base);
	if (each_of(changes, one->number, "base", keep_touched, &sieve, err) <
	    0)
		return -1;
	base_list_sort(&one->base);
	return 0;
}

static int put(struct sieve *sieve, const struct base_record *record)
{
	if (sieve->out.len > CHUNK) {
		if (fileio_write_all(sieve->fd, sieve->out.data, sieve->out.len,
				     NULL) < 0)
			sieve->failed = true;
		buffer_consume(&sieve->out, sieve->out.len);
	}
	return base_record_encode(record, &sieve->out);
}

static int put_untouched(void *ctx, const struct base_record *record)
{
	struct sieve *sieve = ctx;

	/* where both sides have the same, the guest's stands on the host's */
	if (touched(&sieve->one->set, record->path) &&
	    !base_list_find(sieve->fresh, BASE_APPLIED, record->path))
		return 0;
	return put(sieve, record);
}

static int begin(struct sieve *sieve, const struct changes *changes,
		 unsigned number, struct error *err)
{
	char name[CHANGES_NAME_MAX];

	buffer_init(&sieve->out, CHUNK + RECORD_MAX);
	changes_name(name, number, "merged");
	sieve->fd = changes_create_file(changes->folder, name, err);
	return sieve->fd < 0 ? -1 : 0;
}

static int finish(struct sieve *sieve, int result, struct error *err)
{
	if (result == 0 &&
	    (sieve->failed || fileio_write_all(sieve->fd, sieve->out.data,
					       sieve->out.len, err) < 0))
		result = error_set(err, ENOSPC, "base of the changes");
	buffer_release(&sieve->out);
	if (sieve->fd >= 0)
		close(sieve->fd);
	return result;
}

int changes_merge_base(const struct changes *changes,
		       const struct changes_share *one,
		       const struct base_list *same, struct error *err)
{
	struct sieve sieve = { .one = one, .fresh = same };
	int result = begin(&sieve, changes, one->number, err);

	if (result == 0)
		result = each_of(changes, one->number, "scan", put_untouched,
				 &sieve, err);
	for (size_t i = 0; result == 0 && i < one->base.count; i++) {
		const struct base_record *record = &one->base.records[i];

		if (!base_list_find(same, BASE_APPLIED, record->path))
			put(&sieve, record);
	}
	for (size_t i = 0; result == 0 && i < same->count; i++)
		put(&sieve, &same->records[i]);
	return finish(&sieve, result, err);
}

static int put_others(void *ctx, const struct base_record *record)
{
	struct sieve *sieve = ctx;

	/* the list has a record of each kind for what was applied */
	return base_list_find(sieve->fresh, BASE_APPLIED, record->path)
		       ? 0
		       : put(sieve, record);
}

/* What the host and the guest have at an applied path now. */
static void note_one(const struct changes_share *one,
		     const struct change *change, struct base_list *host,
		     struct base_list *guest)
{
	const struct set_entry *entry =
		change_set_find(&one->set, change->path);
	const char *name;
	AUTO_CLOSE int at =
		tree_open_parent(one->root, change->path, 0, &name, NULL);
	struct base_record record = { .kind = BASE_APPLIED,
				      .path = change->path };
	struct stat st;

	if (entry)
		base_record_of_entry(&record, entry);
	base_list_add(guest, &record);
	if (at < 0 || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	base_record_of_host(&record, change->path, at, &st);
	base_list_add(host, &record);
}

int changes_note_applied(struct changes *changes, size_t share,
			 const bool *applied, struct error *err)
{
	AUTO_BASE_LIST struct base_list host = { NULL, 0 }, guest = { NULL, 0 };
	const struct changes_share *one = &changes->shares[share];
	char old_name[CHANGES_NAME_MAX], new_name[CHANGES_NAME_MAX];
	struct sieve sieve = { .one = one, .fresh = &guest };
	int result;

	for (size_t i = 0; i < one->list.count; i++)
		if (applied[i])
			note_one(one, &one->list.changes[i], &host, &guest);
	base_list_sort(&guest);
	result = begin(&sieve, changes, one->number, err);
	if (result == 0)
		result = each_of(changes, one->number, "base", put_others,
				 &sieve, err);
	for (size_t i = 0; result == 0 && i < host.count; i++)
		put(&sieve, &host.records[i]);
	for (size_t i = 0; result == 0 && i < guest.count; i++)
		if (change_set_find(&one->set, guest.records[i].path))
			put(&sieve, &guest.records[i]);
	if (finish(&sieve, result, err) < 0)
		return -1;
	changes_name(old_name, one->number, "merged");
	changes_name(new_name, one->number, "base");
	if (renameat(changes->folder, old_name, changes->folder, new_name) < 0)
		return error_set(err, errno, "%s", new_name);
	return 0;
}
