/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attributes.c - the extended attributes of a file that changes are about
 */
#include "changes/attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tree/tree_open.h"

/* The kernel's own limits. */
#define NAMES_MAX 65536
#define VALUE_MAX 65536

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tar_xattr *)a)->name,
		      ((const struct tar_xattr *)b)->name);
}

/* One piece of memory: the items, then what they point to. */
static void take(struct attributes *attributes, const struct tar_xattr *items,
		 size_t count)
{
	size_t size = count * sizeof(*items);
	char *at;

	for (size_t i = 0; i < count; i++)
		size += strlen(items[i].name) + 1 + items[i].len;
	*attributes = (struct attributes){ NULL, count };
	if (!count)
		return;
	attributes->items = xmalloc(size);
	at = (char *)(attributes->items + count);
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(items[i].name) + 1;

		attributes->items[i] =
			(struct tar_xattr){ at, at + len, items[i].len };
		memcpy(at, items[i].name, len);
		if (items[i].len)
			memcpy(at + len, items[i].value, items[i].len);
		at += len + items[i].len;
	}
	qsort(attributes->items, count, sizeof(*items), by_name);
}

int attributes_copy(struct attributes *attributes,
		    const struct tar_entry *entry, struct error *err)
{
	take(attributes, entry->xattrs, entry->xattr_count);
	for (size_t i = 1; i < attributes->count; i++) {
		if (by_name(&attributes->items[i - 1], &attributes->items[i]))
			continue;
		attributes_release(attributes);
		return tree_error(err, EEXIST, entry->path);
	}
	return 0;
}

static bool is_ours(const char *name)
{
	return text_starts(name, TAR_XATTR_PREFIX) &&
	       name[strlen(TAR_XATTR_PREFIX)];
}

/* Values are appended to out, which may move: items get their offsets. */
static size_t read_values(const char *path, const char *names, ssize_t len,
			  struct buffer *out, struct tar_xattr *items)
{
	AUTO_FREE char *value = xmalloc(VALUE_MAX);
	size_t count = 0;

	for (ssize_t at = 0; at < len && count < TAR_XATTRS_MAX;) {
		const char *name = names + at;
		ssize_t got;

		at += (ssize_t)strlen(name) + 1;
		if (!is_ours(name))
			continue;
		got = lgetxattr(path, name, value, VALUE_MAX);
		if (got < 0 || buffer_append(out, value, (size_t)got) < 0)
			continue;
		items[count++] = (struct tar_xattr){ name, NULL, (size_t)got };
	}
	return count;
}

void attributes_read(struct attributes *attributes, int at, const char *name)
{
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d/%s", at, name);
	AUTO_BUFFER struct buffer values = BUFFER_INIT(TAR_META_MAX);
	AUTO_FREE struct tar_xattr *items = NULL;
	AUTO_FREE char *names = NULL;
	size_t count, used = 0;
	/* most files have none */
	ssize_t len = llistxattr(path, NULL, 0);

	*attributes = (struct attributes){ NULL, 0 };
	if (len <= 0)
		return;
	names = xmalloc(NAMES_MAX);
	len = llistxattr(path, names, NAMES_MAX);
	items = xcalloc(TAR_XATTRS_MAX, sizeof(*items));
	count = read_values(path, names, len, &values, items);
	for (size_t i = 0; i < count; i++) {
		items[i].value = values.data + used;
		used += items[i].len;
	}
	take(attributes, items, count);
}

void attributes_release(struct attributes *attributes)
{
	free(attributes->items);
	*attributes = (struct attributes){ NULL, 0 };
}

const struct tar_xattr *attributes_find(const struct attributes *attributes,
					const char *name)
{
	const struct tar_xattr wanted = { .name = name };

	if (!attributes->count)
		return NULL;
	return bsearch(&wanted, attributes->items, attributes->count,
		       sizeof(wanted), by_name);
}

bool attributes_same_value(const struct tar_xattr *a, const struct tar_xattr *b)
{
	return a && b && a->len == b->len &&
	       (!a->len || !memcmp(a->value, b->value, a->len));
}

bool attributes_same(const struct attributes *a, const struct attributes *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (by_name(&a->items[i], &b->items[i]) ||
		    !attributes_same_value(&a->items[i], &b->items[i]))
			return false;
	return true;
}

size_t attributes_size(const struct attributes *attributes)
{
	size_t size = 0;

	for (size_t i = 0; i < attributes->count; i++)
		size += sizeof(attributes->items[i]) +
			strlen(attributes->items[i].name) + 1 +
			attributes->items[i].len;
	return size;
}

uint64_t attributes_hash(const struct attributes *attributes)
{
	uint64_t hash = TEXT_HASH_START;

	for (size_t i = 0; i < attributes->count; i++) {
		const struct tar_xattr *one = &attributes->items[i];
		uint64_t len = one->len;

		hash = text_hash_more(hash, one->name, strlen(one->name) + 1);
		hash = text_hash_more(hash, &len, sizeof(len));
		hash = text_hash_more(hash, one->value, one->len);
	}
	return attributes->count ? hash | 1 : 0;
}

static int move(int fd, const struct attributes *from,
		const struct attributes *to)
{
	for (size_t i = 0; i < to->count; i++) {
		const struct tar_xattr *one = &to->items[i];

		if (!attributes_same_value(attributes_find(from, one->name),
					   one) &&
		    fsetxattr(fd, one->name, one->value, one->len, 0) < 0)
			return -1;
	}
	for (size_t i = 0; i < from->count; i++)
		if (!attributes_find(to, from->items[i].name) &&
		    fremovexattr(fd, from->items[i].name) < 0 &&
		    errno != ENODATA)
			return -1;
	return 0;
}

int attributes_set(int fd, const struct attributes *now,
		   const struct attributes *wanted)
{
	int why;

	if (move(fd, now, wanted) == 0)
		return 0;
	why = errno;
	/* whatever was set is in wanted */
	(void)move(fd, wanted, now);
	errno = why;
	return -1;
}
