/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_write.c - entries to bytes
 *
 * Plain ustar as long as that can say it, so that archives of small trees are
 * what every tar reads and the same tree gives the same bytes.
 */
#include "tar/tar_write.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/text.h"
#include "tar/tar_header.h"

#define NANO 1000000000u

static const char zeroes[2 * TAR_BLOCK];

static char type_of(const struct tar_entry *entry)
{
	if (entry->hard_link)
		return '1';
	if (S_ISDIR(entry->mode))
		return '5';
	if (S_ISLNK(entry->mode))
		return '2';
	if (S_ISCHR(entry->mode))
		return '3';
	if (S_ISBLK(entry->mode))
		return '4';
	return S_ISFIFO(entry->mode) ? '6' : '0';
}

/* "LEN KEY=VALUE\n", where LEN counts itself. */
static int add_record(struct buffer *pax, const char *prefix, const char *key,
		      const void *value, size_t len)
{
	size_t rest = strlen(prefix) + strlen(key) + len + 3;
	size_t total = rest, was;

	do {
		was = total;
		total = rest;
		for (size_t n = was; n; n /= 10)
			total++;
	} while (total != was);
	if (buffer_printf(pax, "%zu %s%s=", total, prefix, key) < 0 ||
	    (len && buffer_append(pax, value, len) < 0))
		return -1;
	return buffer_append(pax, "\n", 1);
}

static int add_text(struct buffer *pax, const char *key, const char *value)
{
	return add_record(pax, "", key, value, strlen(value));
}

static int add_number(struct buffer *pax, const char *key, uint64_t value)
{
	char text[24];

	(void)text_format(text, sizeof(text), "%llu",
			  (unsigned long long)value);
	return add_text(pax, key, text);
}

static int add_time(struct buffer *pax, int64_t seconds, uint32_t ns)
{
	bool negative = seconds < 0;
	uint64_t whole = negative ? -(uint64_t)seconds : (uint64_t)seconds;
	char text[48];

	if (negative && ns) {
		whole--;
		ns = NANO - ns;
	}
	(void)text_format(text, sizeof(text), "%s%llu.%09u",
			  negative ? "-" : "", (unsigned long long)whole, ns);
	return add_text(pax, "mtime", text);
}

/* A field may be full: then it has no NUL. Longer ones go to pax. */
static int put_text(char *field, size_t size, const char *text, const char *key,
		    struct buffer *pax)
{
	size_t len = strlen(text);

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(field, text, len < size ? len : size);
	return len > size ? add_text(pax, key, text) : 0;
}

static int put_number(char *field, size_t size, uint64_t value, const char *key,
		      struct buffer *pax)
{
	return tar_header_put(field, size, value) ? 0
						  : add_number(pax, key, value);
}

static int put_time(struct tar_header *header, const struct tar_entry *entry,
		    struct buffer *pax)
{
	bool fits = entry->mtime >= 0 &&
		    tar_header_put(header->mtime, sizeof(header->mtime),
				   (uint64_t)entry->mtime);

	if (!fits)
		tar_header_put(header->mtime, sizeof(header->mtime), 0);
	if (fits && !entry->mtime_ns)
		return 0;
	return add_time(pax, entry->mtime, entry->mtime_ns);
}

static void finish_header(struct tar_header *header)
{
	memcpy(header->magic, "ustar", 6);
	memcpy(header->version, "00", 2);
	tar_header_put(header->checksum, sizeof(header->checksum) - 1,
		       tar_header_sum(header));
	header->checksum[sizeof(header->checksum) - 1] = ' ';
}

static int put_pax(const struct buffer *pax, struct buffer *out)
{
	struct tar_header header = { .name = "pax", .type = 'x' };

	if (!pax->len)
		return 0;
	tar_header_put(header.mode, sizeof(header.mode), 0600);
	tar_header_put(header.size, sizeof(header.size), pax->len);
	finish_header(&header);
	if (buffer_append(out, &header, sizeof(header)) < 0 ||
	    buffer_append(out, pax->data, pax->len) < 0)
		return -1;
	return buffer_append(out, zeroes, tar_padding(pax->len));
}

static int put_fields(struct tar_header *h, const struct tar_entry *entry,
		      struct buffer *pax)
{
	int bad = put_text(h->name, sizeof(h->name),
			   entry->path[0] ? entry->path : "./", "path", pax);

	h->type = type_of(entry);
	if (entry->target)
		bad |= put_text(h->target, sizeof(h->target), entry->target,
				"linkpath", pax);
	tar_header_put(h->mode, sizeof(h->mode), entry->mode & 07777);
	bad |= put_number(h->uid, sizeof(h->uid), entry->uid, "uid", pax);
	bad |= put_number(h->gid, sizeof(h->gid), entry->gid, "gid", pax);
	bad |= put_number(h->size, sizeof(h->size), entry->size, "size", pax);
	bad |= put_time(h, entry, pax);
	tar_header_put(h->major, sizeof(h->major), entry->device_major);
	tar_header_put(h->minor, sizeof(h->minor), entry->device_minor);
	return bad;
}

/* Of an attribute: as GNU tar does, and "%" only where it must be. */
static int add_xattr(struct buffer *pax, const struct tar_xattr *item)
{
	char name[3 * TAR_NAME_MAX + 1];
	size_t len = 0;

	if (strlen(item->name) > TAR_NAME_MAX)
		return -1;
	for (const char *at = item->name; *at; at++) {
		bool is_code = text_starts(at, TAR_PAX_EQUALS) ||
			       text_starts(at, TAR_PAX_PERCENT);
		const char *code = *at == '=' ? TAR_PAX_EQUALS
				   : is_code  ? TAR_PAX_PERCENT
					      : NULL;

		if (code)
			memcpy(name + len, code, strlen(code));
		else
			name[len] = *at;
		len += code ? strlen(code) : 1;
	}
	name[len] = '\0';
	return add_record(pax, TAR_PAX_XATTR, name, item->value, item->len);
}

int tar_write_entry(const struct tar_entry *entry, struct buffer *out)
{
	AUTO_BUFFER struct buffer pax = BUFFER_INIT(TAR_META_MAX);
	struct tar_header header = { .type = '0' };
	int bad = put_fields(&header, entry, &pax);

	for (size_t i = 0; i < entry->xattr_count; i++)
		bad |= add_xattr(&pax, &entry->xattrs[i]);
	if (entry->note)
		bad |= add_text(&pax, TAR_PAX_NOTE, entry->note);
	finish_header(&header);
	if (bad || put_pax(&pax, out) < 0)
		return -1;
	return buffer_append(out, &header, sizeof(header));
}

int tar_write_end(struct buffer *out)
{
	return buffer_append(out, zeroes, sizeof(zeroes));
}
