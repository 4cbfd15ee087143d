/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_index.c - where in a tar file the parts of images lie
 */
#include "image/archive_index.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tar/tar_header.h"
#include "tar/tar_path.h"

#define ENTRIES_MAX 8192
#define HEADERS_MAX (4u << 20)
#define META_MAX (64u * 1024)
#define LINKS_MAX 4
#define SPARSE_MORE_AT 482 /* GNU: another block of the map follows */
#define SPARSE_MORE_AGAIN_AT 504

struct entry {
	char *path;   /* owned */
	char *target; /* owned; of a link, as a path of the archive */
	uint64_t offset, size;
};

struct archive_index {
	int fd; /* borrowed */
	uint64_t end;
	struct entry *entries; /* owned */
	size_t count, capacity;
	/* what a pax header or GNU's long names say of the next entry */
	char *path, *link; /* owned; NULL: nothing */
	bool has_size;
	uint64_t size;
};

static void forget(struct archive_index *index)
{
	free(index->path);
	free(index->link);
	index->path = index->link = NULL;
	index->has_size = false;
}

void archive_index_free(struct archive_index *index)
{
	if (!index)
		return;
	forget(index);
	for (size_t i = 0; i < index->count; i++) {
		free(index->entries[i].path);
		free(index->entries[i].target);
	}
	free(index->entries);
	free(index);
}

/* Names of documents, layers and blobs, in every layout there has been. */
static bool is_of_interest(const char *path)
{
	return strcmp(path, "oci-layout") == 0 || text_starts(path, "blobs/") ||
	       text_ends(path, "/layer.tar") ||
	       (!strchr(path, '/') &&
		(text_ends(path, ".json") || text_ends(path, ".tar")));
}

/* A link's target, seen from the root of the archive; malloc'd or NULL. */
static char *target_of(const char *path, const char *link)
{
	const char *slash = strrchr(path, '/');
	char out[TAR_PATH_MAX];

	/* docker writes "../ID/layer.tar" beside "ID/layer.tar" */
	if (slash && text_starts(link, "../"))
		link += 3;
	if (tar_path_normalise(link, strlen(link), out, NULL) < 0)
		return NULL;
	return xstrdup(out);
}

static void keep(struct archive_index *index, const char *name,
		 const char *link, uint64_t offset, uint64_t size)
{
	char path[TAR_PATH_MAX];
	struct entry *entry;

	if (tar_path_normalise(name, strlen(name), path, NULL) < 0 ||
	    !is_of_interest(path) || index->count == ENTRIES_MAX)
		return;
	if (index->count == index->capacity) {
		index->capacity = index->capacity ? 2 * index->capacity : 64;
		index->entries =
			xrealloc(index->entries,
				 index->capacity * sizeof(*index->entries));
	}
	entry = &index->entries[index->count++];
	*entry = (struct entry){ .path = xstrdup(path),
				 .offset = offset,
				 .size = size };
	if (link)
		entry->target = target_of(path, link);
}

/* ---- headers ---- */

/* "LEN KEY=VALUE\n", as often as it comes. */
static void take_pax(struct archive_index *index, char *text, size_t len)
{
	char *at = text, *end = text + len;

	while (at < end) {
		char *space = memchr(at, ' ', (size_t)(end - at)), *value;
		uint64_t record;

		if (!space)
			return;
		*space = '\0';
		if (text_to_u64(at, 3, (uint64_t)(end - at), &record) < 0 ||
		    at + record <= space || at[record - 1] != '\n')
			return;
		at[record - 1] = '\0';
		value = strchr(space + 1, '=');
		if (!value)
			return;
		*value++ = '\0';
		if (strcmp(space + 1, "path") == 0) {
			free(index->path);
			index->path = xstrdup(value);
		} else if (strcmp(space + 1, "linkpath") == 0) {
			free(index->link);
			index->link = xstrdup(value);
		} else if (strcmp(space + 1, "size") == 0) {
			index->has_size = text_to_u64(value, 0, INT64_MAX,
						      &index->size) == 0;
		}
		at += record;
	}
}

static void take_meta(struct archive_index *index, char type, uint64_t offset,
		      uint64_t size)
{
	AUTO_FREE char *text = NULL;

	if (type == 'g' || size > META_MAX || !size)
		return;
	text = xcalloc(1, size + 1);
	if (pread(index->fd, text, size, (off_t)offset) != (ssize_t)size)
		return;
	if (type == 'x') {
		take_pax(index, text, size);
		return;
	}
	if (type == 'L') {
		free(index->path);
		index->path = xstrdup(text);
	} else {
		free(index->link);
		index->link = xstrdup(text);
	}
}

static bool is_sound(const struct tar_header *header, int64_t *size)
{
	int64_t sum;

	return tar_header_get(header->checksum, sizeof(header->checksum),
			      &sum) == 0 &&
	       sum == (int64_t)tar_header_sum(header) &&
	       tar_header_get(header->size, sizeof(header->size), size) == 0 &&
	       *size >= 0;
}

static void name_of(const struct tar_header *header, char *name, size_t size)
{
	if (memcmp(header->magic, "ustar", 6) == 0 && header->prefix[0])
		text_format(name, size, "%.*s/%.*s",
			    (int)sizeof(header->prefix), header->prefix,
			    (int)sizeof(header->name), header->name);
	else
		text_format(name, size, "%.*s", (int)sizeof(header->name),
			    header->name);
}

static void take_entry(struct archive_index *index,
		       const struct tar_header *header, uint64_t offset,
		       uint64_t size)
{
	char name[sizeof(header->prefix) + sizeof(header->name) + 2];
	char link[sizeof(header->target) + 1];
	bool is_link = header->type == '1' || header->type == '2';
	bool is_file = header->type == '0' || header->type == '\0' ||
		       header->type == '7';

	name_of(header, name, sizeof(name));
	text_format(link, sizeof(link), "%.*s", (int)sizeof(header->target),
		    header->target);
	if (is_file || is_link)
		keep(index, index->path ? index->path : name,
		     is_link ? (index->link ? index->link : link) : NULL,
		     offset, size);
	forget(index);
}

/* Blocks of a sparse map that follow the header. */
static uint64_t skip_sparse(const struct archive_index *index,
			    const struct tar_header *header, uint64_t offset)
{
	uint8_t block[TAR_BLOCK];
	bool more = ((const uint8_t *)header)[SPARSE_MORE_AT];

	while (more && pread(index->fd, block, sizeof(block), (off_t)offset) ==
			       (ssize_t)sizeof(block)) {
		more = block[SPARSE_MORE_AGAIN_AT];
		offset += TAR_BLOCK;
	}
	return offset;
}

static void scan(struct archive_index *index)
{
	struct tar_header header;
	uint64_t offset = 0;

	for (unsigned n = 0; n < HEADERS_MAX; n++) {
		int64_t said;
		uint64_t size;

		if (pread(index->fd, &header, sizeof(header), (off_t)offset) !=
			    (ssize_t)sizeof(header) ||
		    !is_sound(&header, &said))
			return;
		offset += TAR_BLOCK;
		size = (uint64_t)said;
		if (strchr("xgLK", header.type) && header.type) {
			take_meta(index, header.type, offset, size);
		} else {
			if (index->has_size)
				size = index->size;
			/* those have no content, whatever they say */
			if (strchr("123456", header.type) && header.type)
				size = 0;
			if (header.type == 'S')
				offset = skip_sparse(index, &header, offset);
			take_entry(index, &header, offset, size);
		}
		if (size > index->end || offset > index->end - size)
			return;
		offset += size + tar_padding(size);
	}
}

struct archive_index *archive_index_new(int fd)
{
	struct archive_index *index = xcalloc(1, sizeof(*index));
	struct stat st;

	index->fd = fd;
	if (fstat(fd, &st) == 0)
		index->end = (uint64_t)st.st_size;
	scan(index);
	return index;
}

int archive_index_find(const struct archive_index *index, const char *path,
		       struct archive_region *region)
{
	for (unsigned links = 0; links < LINKS_MAX; links++) {
		const struct entry *found = NULL;

		/* the last one of that name counts */
		for (size_t i = 0; i < index->count; i++)
			if (strcmp(index->entries[i].path, path) == 0)
				found = &index->entries[i];
		if (!found)
			return -1;
		if (!found->target) {
			*region = (struct archive_region){ index->fd,
							   found->offset,
							   found->size };
			return found->size <= index->end &&
					       found->offset <=
						       index->end - found->size
				       ? 0
				       : -1;
		}
		path = found->target;
	}
	return -1;
}
