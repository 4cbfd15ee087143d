/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ustar.c - writes a plain tar, for trees that bawn makes itself
 */
#include "provision/ustar.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/text.h"

#define BLOCK 512

/* POSIX.1-1988, byte for byte. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12];
	char checksum[8], type, target[100], magic[6], version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a tar header is 512 bytes");

static char type_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return '5';
	if (S_ISLNK(mode))
		return '2';
	if (S_ISCHR(mode))
		return '3';
	if (S_ISBLK(mode))
		return '4';
	return S_ISFIFO(mode) ? '6' : '0';
}

/* A field may be full: then it has no NUL. */
static int put_text(char *field, size_t size, const char *text)
{
	size_t len = strlen(text);

	if (len > size)
		return -1;
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(field, text, len);
	return 0;
}

static void put_number(char *field, size_t size, unsigned long value)
{
	(void)text_format(field, size, "%0*lo", (int)size - 1, value);
}

static void put_checksum(struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned sum = 0;

	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < BLOCK; i++)
		sum += bytes[i];
	put_number(header->checksum, sizeof(header->checksum) - 1, sum);
}

int ustar_add(int fd, const struct ustar_entry *entry, struct error *err)
{
	static const char zeroes[BLOCK];
	struct header header = { .type = type_of(entry->mode) };

	if (put_text(header.name, sizeof(header.name), entry->path) < 0 ||
	    put_text(header.target, sizeof(header.target),
		     entry->target ? entry->target : "") < 0)
		return error_set(err, 0, "%.60s: too long for a tar header",
				 entry->path);
	put_number(header.mode, sizeof(header.mode), entry->mode & 07777);
	put_number(header.uid, sizeof(header.uid), entry->uid);
	put_number(header.gid, sizeof(header.gid), entry->gid);
	put_number(header.size, sizeof(header.size), entry->len);
	put_number(header.mtime, sizeof(header.mtime), 0);
	put_number(header.major, sizeof(header.major), entry->device_major);
	put_number(header.minor, sizeof(header.minor), entry->device_minor);
	memcpy(header.magic, "ustar", 6);
	memcpy(header.version, "00", 2);
	put_checksum(&header);
	if (fileio_write_all(fd, &header, sizeof(header), err) < 0 ||
	    (entry->len &&
	     fileio_write_all(fd, entry->content, entry->len, err) < 0))
		return -1;
	return fileio_write_all(fd, zeroes,
				(BLOCK - entry->len % BLOCK) % BLOCK, err);
}

int ustar_finish(int fd, struct error *err)
{
	static const char zeroes[2 * BLOCK];

	return fileio_write_all(fd, zeroes, sizeof(zeroes), err);
}
