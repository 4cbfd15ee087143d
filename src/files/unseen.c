/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen.c - hidden files of the host that may have names which are not hidden
 */
#include "files/unseen.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "files/share.h"

static int by_number(const void *a, const void *b)
{
	const struct node_key *one = a, *other = b;

	return one->ino < other->ino ? -1 : one->ino > other->ino;
}

static int read_row(const json_t *row, struct node_key *key)
{
	json_int_t major, minor, ino, made_ns;
	struct statx st = { 0 };

	if (json_unpack((json_t *)row, "[IIII!]", &major, &minor, &ino,
			&made_ns) < 0)
		return -1;
	st.stx_dev_major = (uint32_t)major;
	st.stx_dev_minor = (uint32_t)minor;
	*key = (struct node_key){ .dev = share_dev(&st),
				  .ino = (uint64_t)ino,
				  .btime_ns = (uint64_t)made_ns };
	return 0;
}

int unseen_read(struct unseen *unseen, const json_t *list, struct error *err)
{
	size_t count = json_array_size(list);

	if ((list && !json_is_array(list)) || count > UNSEEN_MAX)
		return error_set(err, 0, "unseen: a list of at most %d files",
				 UNSEEN_MAX);
	unseen->files = xcalloc(count + 1, sizeof(*unseen->files));
	while (unseen->count < count) {
		if (read_row(json_array_get(list, unseen->count),
			     &unseen->files[unseen->count]) < 0)
			return error_set(err, 0, "unseen: four numbers each");
		unseen->count++;
	}
	qsort(unseen->files, count, sizeof(*unseen->files), by_number);
	return 0;
}

void unseen_release(struct unseen *unseen)
{
	free(unseen->files);
	*unseen = (struct unseen){ 0 };
}

/* The first of those with this number, or NULL. */
static const struct node_key *first_of(const struct unseen *unseen,
				       uint64_t ino)
{
	const struct node_key key = { .ino = ino }, *found;

	if (!unseen->count)
		return NULL;
	found = bsearch(&key, unseen->files, unseen->count, sizeof(key),
			by_number);
	while (found && found > unseen->files && found[-1].ino == ino)
		found--;
	return found;
}

bool unseen_maybe(const struct unseen *unseen, uint64_t ino)
{
	return first_of(unseen, ino);
}

bool unseen_has(const struct unseen *unseen, const struct statx *st)
{
	const struct node_key *one;

	if (!unseen->count || !S_ISREG(st->stx_mode) || st->stx_nlink < 2 ||
	    (st->stx_mask & SHARE_SHADOW))
		return false;
	one = first_of(unseen, st->stx_ino);
	for (; one && one < unseen->files + unseen->count &&
	       one->ino == st->stx_ino;
	     one++) {
		if (share_same_file(one, st))
			return true;
	}
	return false;
}
