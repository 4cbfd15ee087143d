/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - which synthetic address stands for which name
 *
 * The n-th name of a range has the n-th address of it, so an address is an
 * index; names are found by a hash with a secret in it.
 */
#include "net/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/address.h"
#include "wire/hostname.h"

#define BUCKETS 32768u
#define FILE_BYTES_MAX (64u * 1024 * 1024)
#define LINE_MAX_BYTES (ADDRESS_TEXT_SIZE + HOSTNAME_MAX + 2)

struct name_entry {
	struct name_entry *next; /* of the same bucket */
	uint32_t value;          /* the address, in the order of the host */
	char name[];
};

static const struct {
	uint32_t base;
	uint32_t max;
} ranges[NAMES_RANGES] = {
	[NAMES_MATCHED] = { 0xc6120000, NAMES_MATCHED_MAX },
	[NAMES_OTHER] = { 0xc6130000, NAMES_OTHER_MAX },
};

/* FNV-1a from a secret start: who chooses names must not choose buckets. */
static struct name_entry **bucket_of(const struct names *names,
				     const char *name)
{
	uint64_t hash = names->secret;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return &names->buckets[(hash >> 32) % BUCKETS];
}

static struct name_entry *find_name(const struct names *names, const char *name)
{
	struct name_entry *entry = *bucket_of(names, name);

	while (entry && strcmp(entry->name, name) != 0)
		entry = entry->next;
	return entry;
}

static struct address address_of(uint32_t value)
{
	const uint8_t bytes[4] = { (uint8_t)(value >> 24),
				   (uint8_t)(value >> 16),
				   (uint8_t)(value >> 8), (uint8_t)value };

	return address_v4(bytes);
}

static uint32_t value_of(const struct address *address)
{
	const uint8_t *b = address->bytes;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | b[3];
}

static void add(struct names *names, enum names_range range, const char *name)
{
	struct name_entry *entry = xmalloc(sizeof(*entry) + strlen(name) + 1);
	struct name_entry **bucket = bucket_of(names, name);
	uint32_t count = names->ranges[range].count;

	if (count == names->ranges[range].capacity) {
		uint32_t capacity = count ? count * 2 : 64;

		names->ranges[range].list =
			xrealloc(names->ranges[range].list,
				 capacity * sizeof(struct name_entry *));
		names->ranges[range].capacity = capacity;
	}
	entry->value = ranges[range].base + 1 + count;
	memcpy(entry->name, name, strlen(name) + 1);
	entry->next = *bucket;
	*bucket = entry;
	names->ranges[range].list[count] = entry;
	names->ranges[range].count++;
}

/* Of the next name in that range. */
static uint32_t next_value(const struct names *names, enum names_range range)
{
	return ranges[range].base + 1 + names->ranges[range].count;
}

static int add_line(struct names *names, const char *line, size_t len)
{
	const char *space = memchr(line, ' ', len);
	char name[HOSTNAME_MAX + 1];
	size_t rest = space ? len - (size_t)(space - line) - 1 : 0;
	struct address address;
	int name_len;

	if (!space ||
	    address_parse(line, (size_t)(space - line), &address) < 0 ||
	    address.family != ADDRESS_V4)
		return -1;
	name_len = hostname_canonical(space + 1, rest, name);
	/* Only what we would have written. */
	if (name_len < 0 || (size_t)name_len != rest ||
	    memcmp(name, space + 1, rest) != 0 || find_name(names, name))
		return -1;
	for (int i = 0; i < NAMES_RANGES; i++) {
		if (value_of(&address) != next_value(names, i) ||
		    names->ranges[i].count == ranges[i].max)
			continue;
		add(names, i, name);
		return 0;
	}
	return -1;
}

static int read_lines(struct names *names, const char *text, size_t len,
		      struct error *err)
{
	unsigned number = 1;
	size_t done = 0;

	while (done < len) {
		const char *end = memchr(text + done, '\n', len - done);

		if (!end) /* cut by a crash: nobody was told this one */
			return ftruncate(names->fd, (off_t)done) < 0
				       ? error_set(err, errno, "names")
				       : 0;
		if (add_line(names, text + done, (size_t)(end - text) - done) <
		    0)
			return error_set(err, 0, "names: line %u is wrong",
					 number);
		done = (size_t)(end - text) + 1;
		number++;
	}
	return 0;
}

int names_open(struct names *names, int fd, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_BYTES_MAX);

	*names = (struct names){ .fd = fd };
	arc4random_buf(&names->secret, sizeof(names->secret));
	names->buckets = xcalloc(BUCKETS, sizeof(struct name_entry *));
	if (fd < 0)
		return 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "names");
	if (fileio_read_fd(fd, &text, err) < 0)
		return error_prefix(err, "names");
	return read_lines(names, (const char *)text.data, text.len, err);
}

void names_release(struct names *names)
{
	for (int i = 0; i < NAMES_RANGES; i++) {
		for (uint32_t k = 0; k < names->ranges[i].count; k++)
			free(names->ranges[i].list[k]);
		free(names->ranges[i].list);
	}
	free(names->buckets);
	*names = (struct names){ .fd = -1 };
}

/* A part of a line would join the next one: then nothing more is written. */
static int write_line(struct names *names, uint32_t value, const char *name,
		      struct error *err)
{
	struct address address = address_of(value);
	char line[LINE_MAX_BYTES], text[ADDRESS_TEXT_SIZE];
	ssize_t n;
	size_t len;

	if (names->fd < 0)
		return 0;
	if (names->unwritable)
		return error_set(err, EIO, "names");
	address_format(&address, text);
	(void)text_format(line, sizeof(line), "%s %s\n", text, name);
	len = strlen(line);
	n = write(names->fd, line, len);
	if (n == (ssize_t)len)
		return 0;
	names->unwritable = n > 0;
	return error_set(err, n < 0 ? errno : EIO, "names");
}

int names_address(struct names *names, const char *name, enum names_range range,
		  struct address *out, struct error *err)
{
	const struct name_entry *entry = find_name(names, name);
	uint32_t value = next_value(names, range);

	if (entry) {
		*out = address_of(entry->value);
		return 0;
	}
	if (names->ranges[range].count >= ranges[range].max)
		return error_set(err, ENOSPC, "no address is left for a name");
	if (write_line(names, value, name, err) < 0)
		return -1;
	add(names, range, name);
	*out = address_of(value);
	return 0;
}

const char *names_find(const struct names *names, const struct address *address)
{
	uint32_t value = value_of(address);

	if (address->family != ADDRESS_V4)
		return NULL;
	for (int i = 0; i < NAMES_RANGES; i++) {
		uint32_t index = value - ranges[i].base - 1;

		if (index < names->ranges[i].count)
			return names->ranges[i].list[index]->name;
	}
	return NULL;
}

bool names_is_ours(const struct address *address)
{
	return address->family == ADDRESS_V4 &&
	       value_of(address) >> 17 == ranges[NAMES_MATCHED].base >> 17;
}

size_t names_count(const struct names *names)
{
	size_t count = 0;

	for (int i = 0; i < NAMES_RANGES; i++)
		count += names->ranges[i].count;
	return count;
}
