/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_read.c - bytes to entries, as they come
 */
#include "tar/tar_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "tar/tar_header.h"
#include "tar/tar_pax.h"

#define SHOWN_MAX 200

enum state {
	STATE_HEADER, /* collecting a block */
	STATE_META,   /* collecting pax records or a long name */
	STATE_DATA,   /* passing content on */
	STATE_SKIP,   /* zeroes up to the next block */
	STATE_END,    /* after two blocks of zeroes: the rest is ignored */
};

struct tar_reader {
	struct tar_limits limits;
	struct tar_events events;
	enum state state;
	struct tar_header header;
	size_t have;       /* bytes of header */
	uint64_t left;     /* of meta, content or padding */
	uint64_t size;     /* of what is being read */
	uint64_t position; /* bytes that were taken */
	bool one_zero;     /* the last block was zero */
	char meta_type;
	/* owned: what came before the entry; NUL-terminated after reading */
	struct buffer meta, long_name, long_target;
	bool has_pax;
	struct tar_pax pax;
	char path[TAR_PATH_MAX], target[TAR_PATH_MAX];
};

struct tar_reader *tar_reader_new(const struct tar_limits *limits,
				  const struct tar_events *events)
{
	struct tar_reader *reader = xcalloc(1, sizeof(*reader));

	reader->limits = *limits;
	reader->events = *events;
	buffer_init(&reader->meta, TAR_META_MAX + 1);
	buffer_init(&reader->long_name, TAR_PATH_MAX + 1);
	buffer_init(&reader->long_target, TAR_PATH_MAX + 1);
	return reader;
}

void tar_reader_free(struct tar_reader *reader)
{
	if (!reader)
		return;
	buffer_release(&reader->meta);
	buffer_release(&reader->long_name);
	buffer_release(&reader->long_target);
	free(reader);
}

static void forget_meta(struct tar_reader *reader)
{
	reader->has_pax = false;
	reader->pax = (struct tar_pax){ 0 };
	buffer_consume(&reader->meta, reader->meta.len);
	buffer_consume(&reader->long_name, reader->long_name.len);
	buffer_consume(&reader->long_target, reader->long_target.len);
}

static int named(const char *name, size_t len, struct error *err)
{
	char shown[SHOWN_MAX];

	text_printable(name, len, shown, sizeof(shown));
	return error_prefix(err, "archive entry \"%s\"", shown);
}

/* The header's name: prefix and name are joined where the magic is POSIX's. */
static size_t header_name(const struct tar_header *h, char *out, size_t size)
{
	size_t prefix = 0, name = strnlen(h->name, sizeof(h->name));

	if (!memcmp(h->magic, "ustar\0", 6))
		prefix = strnlen(h->prefix, sizeof(h->prefix));
	(void)text_format(out, size, "%.*s%s%.*s", (int)prefix, h->prefix,
			  prefix ? "/" : "", (int)name, h->name);
	return strlen(out);
}

static size_t up_to_nul(const struct buffer *text)
{
	return strnlen((const char *)text->data, text->len);
}

static int find_path(struct tar_reader *reader, bool *slash, struct error *err)
{
	char short_name[sizeof(reader->header.name) +
			sizeof(reader->header.prefix) + 2];
	const char *name = short_name;
	size_t len;

	if (reader->pax.path) {
		name = reader->pax.path;
		len = reader->pax.path_len;
	} else if (reader->long_name.len) {
		name = (const char *)reader->long_name.data;
		len = up_to_nul(&reader->long_name);
	} else {
		len = header_name(&reader->header, short_name,
				  sizeof(short_name));
	}
	*slash = len && name[len - 1] == '/';
	if (tar_path_normalise(name, len, reader->path, err) < 0)
		return named(name, len, err);
	return 0;
}

static int find_target(struct tar_reader *reader, bool hard, struct error *err)
{
	const char *text = reader->header.target;
	size_t len = strnlen(text, sizeof(reader->header.target));

	if (reader->pax.target) {
		text = reader->pax.target;
		len = reader->pax.target_len;
	} else if (reader->long_target.len) {
		text = (const char *)reader->long_target.data;
		len = up_to_nul(&reader->long_target);
	}
	if (hard) {
		if (tar_path_normalise(text, len, reader->target, err) < 0)
			return error_prefix(err, "hard link");
		return 0;
	}
	if (!len || len >= TAR_PATH_MAX || memchr(text, '\0', len))
		return error_set(err, 0, "bad target of a link");
	memcpy(reader->target, text, len);
	reader->target[len] = '\0';
	return 0;
}

static int type_to_mode(char type, bool slash, mode_t *mode)
{
	switch (type) {
	case '\0':
		*mode |= slash ? S_IFDIR : S_IFREG;
		return 0;
	case '0':
	case '1':
	case '7':
		*mode |= S_IFREG;
		return 0;
	case '2':
		*mode |= S_IFLNK;
		return 0;
	case '3':
		*mode |= S_IFCHR;
		return 0;
	case '4':
		*mode |= S_IFBLK;
		return 0;
	case '5':
		*mode |= S_IFDIR;
		return 0;
	case '6':
		*mode |= S_IFIFO;
		return 0;
	default:
		return -1;
	}
}

static int get(const char *field, size_t size, int64_t max, int64_t *value)
{
	return tar_header_get(field, size, value) < 0 || *value < 0 ||
			       *value > max
		       ? -1
		       : 0;
}

static int read_numbers(const struct tar_header *h, struct tar_entry *entry,
			struct error *err)
{
	int64_t mode, uid, gid, size, mtime, major = 0, minor = 0;

	if (get(h->mode, sizeof(h->mode), 0777777, &mode) < 0 ||
	    get(h->uid, sizeof(h->uid), UINT32_MAX, &uid) < 0 ||
	    get(h->gid, sizeof(h->gid), UINT32_MAX, &gid) < 0 ||
	    get(h->size, sizeof(h->size), INT64_MAX, &size) < 0 ||
	    tar_header_get(h->mtime, sizeof(h->mtime), &mtime) < 0)
		return error_set(err, 0, "bad number in its header");
	if ((h->type == '3' || h->type == '4') &&
	    (get(h->major, sizeof(h->major), UINT32_MAX, &major) < 0 ||
	     get(h->minor, sizeof(h->minor), UINT32_MAX, &minor) < 0))
		return error_set(err, 0, "bad device number");
	entry->mode = (mode_t)mode & 07777;
	entry->uid = (uid_t)uid;
	entry->gid = (gid_t)gid;
	entry->size = (uint64_t)size;
	entry->mtime = mtime;
	entry->device_major = (unsigned)major;
	entry->device_minor = (unsigned)minor;
	return 0;
}

static int find_type(struct tar_reader *reader, bool slash,
		     struct tar_entry *entry, struct error *err)
{
	char type = reader->header.type;

	if (type_to_mode(type, slash, &entry->mode) < 0)
		return error_set(err, 0, "unsupported type 0x%02x",
				 type & 0xff);
	entry->hard_link = type == '1';
	if (!entry->hard_link && type != '2')
		return 0;
	entry->target = reader->target;
	return find_target(reader, entry->hard_link, err);
}

static int fill_entry(struct tar_reader *reader, bool slash,
		      struct tar_entry *entry, struct error *err)
{
	const struct tar_pax *pax = &reader->pax;

	if (read_numbers(&reader->header, entry, err) < 0 ||
	    find_type(reader, slash, entry, err) < 0)
		return -1;
	if (pax->has_size)
		entry->size = pax->size;
	if (pax->has_mtime) {
		entry->mtime = pax->mtime;
		entry->mtime_ns = pax->mtime_ns;
	}
	if (entry->size && (!S_ISREG(entry->mode) || entry->hard_link))
		return error_set(err, 0, "content where none may be");
	entry->xattrs = pax->xattrs;
	entry->xattr_count = pax->xattr_count;
	entry->note = pax->note;
	return 0;
}

static int build_entry(struct tar_reader *reader, struct tar_entry *entry,
		       struct error *err)
{
	bool slash;

	if (find_path(reader, &slash, err) < 0)
		return -1;
	entry->path = reader->path;
	entry->offset = reader->position;
	if (fill_entry(reader, slash, entry, err) < 0)
		return named(reader->path, strlen(reader->path), err);
	return 0;
}

static void skip_padding(struct tar_reader *reader)
{
	reader->left = tar_padding(reader->size);
	reader->state = reader->left ? STATE_SKIP : STATE_HEADER;
}

static int begin_entry(struct tar_reader *reader, struct error *err)
{
	struct tar_entry entry = { .path = NULL };

	if (build_entry(reader, &entry, err) < 0)
		return -1;
	if (!reader->limits.entries)
		return error_set(err, 0, "the archive has too many entries");
	reader->limits.entries--;
	if (entry.size > reader->limits.bytes)
		return error_set(err, EFBIG, "the archive is too large");
	if (reader->events.entry(reader->events.ctx, &entry, err) < 0)
		return -1;
	forget_meta(reader);
	reader->left = reader->size = entry.size;
	reader->state = STATE_DATA;
	if (reader->left)
		return 0;
	reader->state = STATE_HEADER;
	return reader->events.end(reader->events.ctx, err);
}

static int begin_meta(struct tar_reader *reader, struct error *err)
{
	char type = reader->header.type;
	int64_t size;
	bool twice = (type == 'x' && reader->has_pax) ||
		     (type == 'L' && reader->long_name.len) ||
		     (type == 'K' && reader->long_target.len);

	if (twice)
		return error_set(err, 0, "archive: two headers of one kind");
	if (get(reader->header.size, sizeof(reader->header.size), TAR_META_MAX,
		&size) < 0 ||
	    ((type == 'L' || type == 'K') && size > TAR_PATH_MAX))
		return error_set(err, 0, "archive: a header is too long");
	if (type == 'g' && (reader->has_pax || reader->long_name.len ||
			    reader->long_target.len))
		return error_set(err, 0, "archive: a misplaced global header");
	reader->meta_type = type;
	reader->left = reader->size = (uint64_t)size;
	reader->state = STATE_META;
	return 0;
}

static struct buffer *meta_buffer(struct tar_reader *reader)
{
	if (reader->meta_type == 'L')
		return &reader->long_name;
	return reader->meta_type == 'K' ? &reader->long_target : &reader->meta;
}

static int end_meta(struct tar_reader *reader, struct error *err)
{
	struct buffer *meta = &reader->meta;

	skip_padding(reader);
	if (reader->meta_type == 'x') {
		reader->has_pax = true;
		if (tar_pax_parse((char *)meta->data, meta->len, &reader->pax,
				  err) < 0)
			return error_prefix(err, "archive");
	} else if (reader->meta_type == 'g') {
		if (tar_pax_check_global((char *)meta->data, meta->len, err) <
		    0)
			return error_prefix(err, "archive");
		buffer_consume(meta, meta->len);
	}
	return 0;
}

static bool known_magic(const struct tar_header *header)
{
	static const char gnu[8] = "ustar  ", old[8];

	return !memcmp(header->magic, "ustar\00000", 8) ||
	       !memcmp(header->magic, gnu, 8) || !memcmp(header->magic, old, 8);
}

static int take_header(struct tar_reader *reader, struct error *err)
{
	const struct tar_header *header = &reader->header;
	bool pending = reader->has_pax || reader->long_name.len ||
		       reader->long_target.len;
	int64_t sum;

	reader->have = 0;
	if (mem_is_zero(header, sizeof(*header))) {
		if (pending)
			return error_set(err, 0, "archive: cut off");
		reader->state = reader->one_zero ? STATE_END : STATE_HEADER;
		reader->one_zero = true;
		return 0;
	}
	if (reader->one_zero)
		return error_set(err, 0, "archive: bytes after its end");
	if (!known_magic(header) ||
	    get(header->checksum, sizeof(header->checksum), 07777777, &sum) <
		    0 ||
	    (unsigned)sum != tar_header_sum(header))
		return error_set(err, 0, "not a tar archive, or a damaged one");
	switch (header->type) {
	case 'x':
	case 'g':
	case 'L':
	case 'K':
		return begin_meta(reader, err);
	default:
		return begin_entry(reader, err);
	}
}

static size_t at_most(size_t len, uint64_t left)
{
	return len < left ? len : (size_t)left;
}

/* Takes some bytes, *used of them. */
static int step(struct tar_reader *reader, const uint8_t *bytes, size_t len,
		size_t *used, struct error *err)
{
	switch (reader->state) {
	case STATE_HEADER:
		*used = at_most(len, TAR_BLOCK - reader->have);
		memcpy((char *)&reader->header + reader->have, bytes, *used);
		reader->have += *used;
		reader->position += *used;
		return reader->have == TAR_BLOCK ? take_header(reader, err) : 0;
	case STATE_META:
		*used = at_most(len, reader->left);
		if (*used &&
		    buffer_append(meta_buffer(reader), bytes, *used) < 0)
			return error_set(err, 0, "archive: header too long");
		reader->left -= *used;
		reader->position += *used;
		return reader->left ? 0 : end_meta(reader, err);
	case STATE_DATA:
		*used = at_most(len, reader->left);
		reader->left -= *used;
		reader->position += *used;
		if (reader->events.data(reader->events.ctx, bytes, *used, err) <
		    0)
			return -1;
		if (reader->left)
			return 0;
		skip_padding(reader);
		return reader->events.end(reader->events.ctx, err);
	case STATE_SKIP:
		*used = at_most(len, reader->left);
		reader->left -= *used;
		reader->position += *used;
		if (!reader->left)
			reader->state = STATE_HEADER;
		return 0;
	default:
		*used = len;
		return 0;
	}
}

int tar_reader_feed(struct tar_reader *reader, const void *bytes, size_t len,
		    struct error *err)
{
	const uint8_t *at = bytes;
	size_t used;

	while (len) {
		if (step(reader, at, len, &used, err) < 0)
			return -1;
		if (used > reader->limits.bytes)
			return error_set(err, EFBIG,
					 "the archive is too large");
		reader->limits.bytes -= used;
		at += used;
		len -= used;
		/* a header without a body ends at once */
		if (reader->state == STATE_META && !reader->left &&
		    end_meta(reader, err) < 0)
			return -1;
	}
	return 0;
}

int tar_reader_finish(const struct tar_reader *reader, struct error *err)
{
	return reader->state == STATE_END
		       ? 0
		       : error_set(err, 0, "the archive was cut off");
}
