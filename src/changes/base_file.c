/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_file.c - what the host's folder was when the guest last saw it as it is
 */
#include "changes/base_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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
#include "changes/attributes.h"
#include "changes/change_set.h"
#include "tar/tar_path.h"
#include "tree/tree_open.h"

#define RECORD_MAX (TAR_PATH_MAX + 128)
#define CHUNK (256u * 1024)
#define DEPTH_MAX 512

AUTO_DEFINE(dir, DIR *, closedir)

int base_record_encode(const struct base_record *record, struct buffer *out)
{
	if (buffer_printf(out, "%c %o %" PRIu64 " %" PRIu64 " %" PRId64 ".%u",
			  record->kind, record->mode, record->ino, record->size,
			  record->mtime, record->mtime_ns) < 0 ||
	    (record->has_attributes &&
	     buffer_printf(out, ",%" PRIx64, record->attributes) < 0) ||
	    buffer_append(out, " ", 1) < 0)
		return -1;
	return buffer_append(out, record->path, strlen(record->path) + 1);
}

/* ",1f" or nothing; what follows it, or NULL. */
static const char *parse_attributes(const char *text,
				    struct base_record *record)
{
	int end = 0;

	record->has_attributes = *text == ',';
	record->attributes = 0;
	if (!record->has_attributes)
		return text;
	if (!isxdigit((unsigned char)text[1]) ||
	    sscanf(text, ",%16" SCNx64 "%n", &record->attributes, &end) != 1)
		return NULL;
	return text + end;
}

int base_record_parse(const char *text, struct base_record *record)
{
	char kind;
	unsigned mode, ns;
	int end = 0;
	const char *path;

	if (sscanf(text, "%c %o %" SCNu64 " %" SCNu64 " %" SCNd64 ".%u%n",
		   &kind, &mode, &record->ino, &record->size, &record->mtime,
		   &ns, &end) != 6)
		return -1;
	path = parse_attributes(text + end, record);
	if (!path || path[0] != ' ' || !path[1])
		return -1;
	if ((kind != BASE_HOST && kind != BASE_APPLIED) || ns >= 1000000000)
		return -1;
	record->kind = (enum base_kind)kind;
	record->mode = mode;
	record->mtime_ns = ns;
	record->path = path + 1;
	return 0;
}

void base_record_of_host(struct base_record *record, const char *path, int at,
			 const struct stat *st)
{
	AUTO_ATTRIBUTES struct attributes attributes = { NULL, 0 };
	const char *slash = strrchr(path, '/');

	/* links have none */
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		attributes_read(&attributes, at, slash ? slash + 1 : path);
	*record = (struct base_record){
		.kind = BASE_HOST,
		.mode = st->st_mode,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
		.has_attributes = true,
		.attributes = attributes_hash(&attributes),
		.path = path,
	};
}

void base_record_of_entry(struct base_record *record,
			  const struct set_entry *entry)
{
	*record = (struct base_record){
		.kind = BASE_APPLIED,
		.mode = entry->deleted ? 0 : entry->mode,
		.size = entry->size,
		.mtime = entry->mtime,
		.mtime_ns = entry->mtime_ns,
		.has_attributes = true,
		.attributes = attributes_hash(&entry->attributes),
		.path = entry->path,
	};
}

bool base_record_same(const struct base_record *a, const struct base_record *b)
{
	if (a->has_attributes && b->has_attributes &&
	    a->attributes != b->attributes)
		return false;
	/* a folder's own size and time are those of its entries */
	if (S_ISDIR(a->mode) && S_ISDIR(b->mode))
		return true;
	return a->mode == b->mode && a->ino == b->ino && a->size == b->size &&
	       a->mtime == b->mtime && a->mtime_ns == b->mtime_ns;
}

struct scan {
	int fd;
	unsigned depth, entries;
	struct buffer out;
	char path[TAR_PATH_MAX];
};

static int flush(struct scan *scan, struct error *err)
{
	if (fileio_write_all(scan->fd, scan->out.data, scan->out.len, err) < 0)
		return -1;
	buffer_consume(&scan->out, scan->out.len);
	return 0;
}

static int scan_folder(struct scan *scan, int fd, struct error *err);

static int scan_one(struct scan *scan, int at, const char *name,
		    struct error *err)
{
	struct base_record record;
	struct stat st;
	int fd;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : tree_error(err, errno, scan->path);
	if (scan->entries++ == BASE_ENTRIES_MAX)
		return error_set(err, 0, "the folder has more than %u entries",
				 BASE_ENTRIES_MAX);
	base_record_of_host(&record, scan->path, at, &st);
	if (scan->out.len > CHUNK && flush(scan, err) < 0)
		return -1;
	base_record_encode(&record, &scan->out);
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* the guest cannot read it either */
	if (fd < 0)
		return 0;
	return scan_folder(scan, fd, err);
}

/* Takes fd. */
static int scan_folder(struct scan *scan, int fd, struct error *err)
{
	AUTO(dir) DIR *dir = fdopendir(fd);
	size_t len = strlen(scan->path);
	struct dirent *child;
	int result = 0;

	if (!dir) {
		close(fd);
		return tree_error(err, ENOMEM, scan->path);
	}
	/* no change comes from so deep (tree_walk.c) */
	if (scan->depth == DEPTH_MAX)
		return 0;
	scan->depth++;
	while (result == 0 && (child = readdir(dir))) {
		const char *name = child->d_name;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		/* a path that is too long for us is too long for the guest */
		if (text_format(scan->path + len, sizeof(scan->path) - len,
				"%s%s", len ? "/" : "", name) == 0)
			result = scan_one(scan, fd, name, err);
		scan->path[len] = '\0';
	}
	scan->depth--;
	return result;
}

int base_scan(int root, int fd, struct error *err)
{
	struct scan *scan = xcalloc(1, sizeof(*scan));
	int folder = tree_open(root, "", O_RDONLY | O_DIRECTORY);
	int result = -1;

	scan->fd = fd;
	buffer_init(&scan->out, CHUNK + RECORD_MAX + 1);
	if (folder < 0)
		tree_error(err, errno, ".");
	else
		result = scan_folder(scan, folder, err);
	if (result == 0)
		result = flush(scan, err);
	buffer_release(&scan->out);
	free(scan);
	return result;
}

/* The records of a chunk; *used tells how much was whole. */
static int take_chunk(const char *text, size_t len, size_t *used,
		      int (*take)(void *, const struct base_record *),
		      void *ctx, struct error *err)
{
	const char *end;

	*used = 0;
	while ((end = memchr(text + *used, '\0', len - *used))) {
		struct base_record record;

		if (base_record_parse(text + *used, &record) < 0)
			return error_set(err, 0, "damaged record");
		if (take(ctx, &record) < 0)
			return error_set(err, 0, "too many records");
		*used = (size_t)(end - text) + 1;
	}
	return 0;
}

int base_each(int fd, int (*take)(void *ctx, const struct base_record *record),
	      void *ctx, struct error *err)
{
	AUTO_FREE char *text = xmalloc(CHUNK);
	size_t have = 0, used;
	off_t at = 0;

	for (;;) {
		ssize_t got = pread(fd, text + have, CHUNK - have, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "read");
		if (!got)
			return have ? error_set(err, 0, "cut off") : 0;
		at += got;
		have += (size_t)got;
		if (take_chunk(text, have, &used, take, ctx, err) < 0)
			return -1;
		if (!used && have == CHUNK)
			return error_set(err, 0, "damaged record");
		have -= used;
		memmove(text, text + used, have);
	}
}

void base_list_add(struct base_list *list, const struct base_record *record)
{
	/* doubled at each power of two */
	if (!(list->count & (list->count - 1)))
		list->records = xrealloc(list->records,
					 (list->count ? list->count * 2 : 1) *
						 sizeof(*list->records));
	list->records[list->count] = *record;
	list->records[list->count++].path = xstrdup(record->path);
}

static int by_path(const void *a, const void *b)
{
	const struct base_record *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (int)x->kind - (int)y->kind;
}

void base_list_sort(struct base_list *list)
{
	if (list->count)
		qsort(list->records, list->count, sizeof(*list->records),
		      by_path);
}

const struct base_record *base_list_find(const struct base_list *list,
					 enum base_kind kind, const char *path)
{
	const struct base_record wanted = { .kind = kind, .path = path };

	if (!list->count)
		return NULL;
	return bsearch(&wanted, list->records, list->count, sizeof(wanted),
		       by_path);
}

void base_list_release(struct base_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)list->records[i].path);
	free(list->records);
	*list = (struct base_list){ NULL, 0 };
}
