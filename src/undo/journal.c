/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - what was changed in a workspace, so that it can be taken back
 */
#include "undo/journal.h"

#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "proto/cursor.h"

#define VERSION 1
#define TEXT_MAX JOURNAL_PATH_MAX
#define NAME_MAX_BYTES 255

static const uint8_t magic[8] = { 'B', 'A', 'W', 'N', 'U', 'N', 'D', 'O' };

/* FNV-1a: finds what was cut or never reached the disk, not an attacker. */
static uint32_t checksum(const uint8_t *bytes, size_t len)
{
	uint32_t sum = 2166136261U;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * 16777619U;
	return sum;
}

void journal_head(uint8_t head[JOURNAL_HEAD_BYTES])
{
	struct writer w = writer_over(head, JOURNAL_HEAD_BYTES);

	writer_bytes(&w, magic, sizeof(magic));
	writer_u32(&w, VERSION);
	writer_u32(&w, 0);
}

size_t journal_encode(const struct journal_record *record, void *bytes,
		      size_t size)
{
	const struct journal_file *file = &record->file;
	struct writer w = writer_over(bytes, size);
	struct writer frame = writer_over(bytes, size);
	size_t len;

	writer_u64(&w, 0);
	writer_u8(&w, (uint8_t)record->type);
	writer_u8(&w, record->share);
	writer_u16(&w, (uint16_t)record->flags);
	writer_u32(&w, record->number);
	writer_u64(&w, file->dev);
	writer_u64(&w, file->ino);
	writer_u64(&w, file->btime_ns);
	writer_u64(&w, file->size);
	writer_u64(&w, (uint64_t)file->atime_ns);
	writer_u64(&w, (uint64_t)file->mtime_ns);
	writer_u32(&w, file->mode);
	writer_str(&w, record->path);
	writer_str(&w, record->text);
	writer_bytes(&w, record->xattrs, record->xattrs_len);
	len = writer_len(&w);
	if (w.bad || len > JOURNAL_RECORD_MAX)
		return 0;
	writer_u32(&frame, (uint32_t)(len - JOURNAL_FRAME_BYTES));
	writer_u32(&frame, checksum((uint8_t *)bytes + JOURNAL_FRAME_BYTES,
				    len - JOURNAL_FRAME_BYTES));
	return len;
}

size_t journal_xattr_add(uint8_t *xattrs, size_t len, size_t size,
			 const struct journal_xattr *one)
{
	struct writer w = writer_over(xattrs + len, size - len);

	writer_str(&w, one->name);
	writer_u32(&w, (uint32_t)one->len);
	writer_bytes(&w, one->value, one->len);
	return w.bad ? 0 : len + writer_len(&w);
}

int journal_begin(struct journal_reader *reader, const void *bytes, size_t len)
{
	uint8_t head[JOURNAL_HEAD_BYTES];

	journal_head(head);
	*reader = (struct journal_reader){ .bytes = bytes,
					   .len = len,
					   .at = sizeof(head) };
	if (len < sizeof(head) || memcmp(bytes, head, sizeof(head)) != 0)
		return -1;
	return 0;
}

static bool name_is_good(const char *name, size_t len)
{
	if (len == 0 || len > NAME_MAX_BYTES)
		return false;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return false;
	return true;
}

bool journal_path_is_good(const char *path)
{
	for (unsigned depth = 0; depth < JOURNAL_DEPTH_MAX; depth++) {
		const char *end = strchrnul(path, '/');

		if (!name_is_good(path, (size_t)(end - path)))
			return false;
		if (!*end)
			return true;
		path = end + 1;
	}
	return false;
}

bool journal_label_is_good(const char *label)
{
	size_t len = strspn(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz"
				   "0123456789._:+-");

	return len > 0 && len <= JOURNAL_LABEL_MAX && !label[len] &&
	       label[0] != '-' && label[0] != '.';
}

static int read_xattr(struct cursor *c, struct journal_xattr *one)
{
	uint32_t claimed_len;

	one->name = cursor_str(c);
	claimed_len = cursor_u32(c);
	one->value = cursor_bytes(c, claimed_len);
	one->len = claimed_len;
	if (c->bad || !text_starts(one->name, "user.") ||
	    strlen(one->name) > NAME_MAX_BYTES || !one->name[5])
		return -1;
	return 0;
}

int journal_xattr_next(const struct journal_record *record, size_t *at,
		       struct journal_xattr *one)
{
	struct cursor c =
		cursor_over(record->xattrs + *at, record->xattrs_len - *at);

	if (cursor_left(&c) == 0 || read_xattr(&c, one) < 0)
		return 0;
	*at = record->xattrs_len - cursor_left(&c);
	return 1;
}

static bool xattrs_are_good(const struct journal_record *record)
{
	struct journal_xattr one;
	size_t at = 0;

	if (record->xattrs_len > JOURNAL_XATTRS_MAX)
		return false;
	while (journal_xattr_next(record, &at, &one))
		;
	return at == record->xattrs_len;
}

static bool type_is_good(uint32_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) ||
	       S_ISSOCK(mode);
}

/* What the fields of each type may hold. */
static bool fields_are_good(const struct journal_record *record)
{
	bool path = journal_path_is_good(record->path);

	switch (record->type) {
	case JOURNAL_SHARE:
		return record->path[0] == '/' &&
		       (!record->path[1] ||
			journal_path_is_good(record->path + 1));
	case JOURNAL_CREATE:
	case JOURNAL_REMOVE:
		return path && type_is_good(record->file.mode);
	case JOURNAL_RENAME:
	case JOURNAL_EXCHANGE:
		return path && journal_path_is_good(record->text);
	case JOURNAL_CHANGE:
		return (path || !record->path[0]) &&
		       type_is_good(record->file.mode);
	case JOURNAL_CANCEL:
		return record->number > 0;
	case JOURNAL_LEFT:
	case JOURNAL_END:
	case JOURNAL_RESTART:
	case JOURNAL_LOST:
		return true;
	default:
		return false;
	}
}

static int decode(const uint8_t *bytes, size_t len,
		  struct journal_record *record)
{
	struct cursor c = cursor_over(bytes, len);
	struct journal_file *file = &record->file;

	*record = (struct journal_record){ .type = cursor_u8(&c) };
	record->share = cursor_u8(&c);
	record->flags = cursor_u16(&c);
	record->number = cursor_u32(&c);
	file->dev = cursor_u64(&c);
	file->ino = cursor_u64(&c);
	file->btime_ns = cursor_u64(&c);
	file->size = cursor_u64(&c);
	file->atime_ns = (int64_t)cursor_u64(&c);
	file->mtime_ns = (int64_t)cursor_u64(&c);
	file->mode = cursor_u32(&c);
	record->path = cursor_str(&c);
	record->text = cursor_str(&c);
	if (c.bad)
		return -1;
	record->xattrs_len = cursor_left(&c);
	record->xattrs = cursor_bytes(&c, record->xattrs_len);
	if (record->share >= JOURNAL_SHARES_MAX ||
	    (record->flags & ~(unsigned)JOURNAL_FLAGS) ||
	    file->size > INT64_MAX || strlen(record->path) > TEXT_MAX ||
	    strlen(record->text) > TEXT_MAX)
		return -1;
	return fields_are_good(record) && xattrs_are_good(record) ? 0 : -1;
}

int journal_at(const struct journal_reader *reader, size_t at,
	       struct journal_record *record)
{
	struct cursor c = cursor_over(reader->bytes + at, reader->len - at);
	uint32_t claimed_len = cursor_u32(&c), sum = cursor_u32(&c);
	const uint8_t *bytes = cursor_bytes(&c, claimed_len);

	if (c.bad || claimed_len > JOURNAL_RECORD_MAX ||
	    checksum(bytes, claimed_len) != sum)
		return 0;
	return decode(bytes, claimed_len, record) < 0 ? -1 : 1;
}

int journal_next(struct journal_reader *reader, struct journal_record *record)
{
	int found = journal_at(reader, reader->at, record);
	struct cursor c;

	if (found != 1)
		return found;
	c = cursor_over(reader->bytes + reader->at, JOURNAL_FRAME_BYTES);
	reader->at += JOURNAL_FRAME_BYTES + cursor_u32(&c);
	return 1;
}
