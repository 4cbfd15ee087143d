/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fuse_reply.c - what is put into a reply stays within its buffer and the
 * guest's limit, and every length in it is true
 *
 * Each buffer has exactly the size that is said, so that a sanitizer sees a
 * byte too many.
 */
#include "files/fuse_reply.h"

#include <string.h>

#include "lib/fuzz.h"
#include "proto/record.h"

#define HEADERS (RECORD_HEADER_BYTES + sizeof(struct fuse_out_header))
#define NAME_MAX_BYTES 255

struct input {
	const uint8_t *at, *end;
};

static unsigned take(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

static void check_record(const uint8_t *bytes, size_t len, unsigned share,
			 uint64_t unique, int32_t error)
{
	struct fuse_out_header head;
	struct record record;

	FUZZ_CHECK(len >= HEADERS);
	FUZZ_CHECK(record_decode(bytes, &record) == 0);
	FUZZ_CHECK(record.type == RECORD_FUSE && record.share == share);
	FUZZ_CHECK(record.len == len - RECORD_HEADER_BYTES);
	memcpy(&head, bytes + RECORD_HEADER_BYTES, sizeof(head));
	FUZZ_CHECK(head.len == record.len && head.unique == unique &&
		   head.error == error);
}

/* A body of entries alone is what a kernel reads as such. */
static void check_entries(const uint8_t *at, size_t left, bool plus,
			  unsigned count)
{
	size_t before = plus ? sizeof(struct fuse_entry_out) : 0;

	while (left) {
		struct fuse_dirent entry;
		size_t size;

		FUZZ_CHECK(left >= before + FUSE_NAME_OFFSET);
		memcpy(&entry, at + before, FUSE_NAME_OFFSET);
		size = before +
		       FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.namelen);
		FUZZ_CHECK(size <= left && count > 0);
		for (size_t i = 0; i < entry.namelen; i++)
			FUZZ_CHECK(at[before + FUSE_NAME_OFFSET + i] == 'n');
		for (size_t i = before + FUSE_NAME_OFFSET + entry.namelen;
		     i < size; i++)
			FUZZ_CHECK(at[i] == 0);
		at += size;
		left -= size;
		count--;
	}
	FUZZ_CHECK(count == 0);
}

static bool add_entry(struct reply *reply, size_t limit, bool plus,
		      size_t name_len)
{
	static const struct fuse_entry_out out;
	struct reply_dirent entry = { .ino = 7, .off = 9, .type = 4 };
	size_t before = reply->len;
	char *name = malloc(name_len + 1);
	bool fits, added;

	FUZZ_CHECK(name);
	memset(name, 'n', name_len);
	entry.name = name;
	entry.name_len = name_len;
	fits = reply_fits_direntplus(reply, limit, name_len);
	added = plus ? reply_direntplus(reply, limit, &out, &entry)
		     : reply_dirent(reply, limit, &entry);
	FUZZ_CHECK(!plus || added == fits);
	FUZZ_CHECK(added == (reply->len > before));
	FUZZ_CHECK(!added || (reply->len - HEADERS <= limit &&
			      reply->len <= reply->size));
	free(name);
	return added;
}

static void folder(struct input *input, struct reply *reply)
{
	size_t limit = take(input) << 3;
	bool plus = take(input) & 1;
	unsigned count = 0;

	while (input->at < input->end)
		count += add_entry(reply, limit, plus,
				   1 + take(input) % NAME_MAX_BYTES);
	check_entries(reply->bytes + HEADERS, reply->len - HEADERS, plus,
		      count);
}

static void plain(struct input *input, struct reply *reply)
{
	while (input->at < input->end) {
		size_t before = reply->len, left, len;
		bool copy = take(input) & 1;
		uint8_t *room;

		len = take(input);
		room = reply_room(reply, &left);
		FUZZ_CHECK(room == reply->bytes + before &&
			   left == reply->size - before);
		if (copy && len <= (size_t)(input->end - input->at)) {
			int added = reply_add(reply, input->at, len);

			FUZZ_CHECK((added == 0) == (len <= left));
			FUZZ_CHECK(added < 0 || !len ||
				   !memcmp(room, input->at, len));
			FUZZ_CHECK(reply->len == before + (added ? 0 : len));
			input->at += len;
		} else if (len <= left) {
			memset(room, 1, len);
			reply_grow(reply, len);
		}
	}
}

static void notice(struct input *input, uint8_t *bytes, size_t size)
{
	unsigned share = take(input) % 64;
	size_t name_len = take(input), len;
	char *name;

	len = reply_inval_inode(bytes, size, share, 5, name_len & 1);
	FUZZ_CHECK(len <= size);
	if (len)
		check_record(bytes, len, share, 0, FUSE_NOTIFY_INVAL_INODE);
	name = malloc(name_len + 1);
	FUZZ_CHECK(name);
	memset(name, 'n', name_len);
	name[name_len] = '\0';
	len = reply_inval_entry(bytes, size, share, 5, name);
	FUZZ_CHECK(len <= size);
	if (len) {
		check_record(bytes, len, share, 0, FUSE_NOTIFY_INVAL_ENTRY);
		FUZZ_CHECK(!memcmp(bytes + len - name_len - 1, name,
				   name_len + 1));
	}
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	unsigned kind = take(&input) % 3;
	size_t room = take(&input) << 3 | (take(&input) & 7);
	unsigned share = take(&input) % 64;
	int error = take(&input) & 0x81 ? 0 : 5;
	struct reply reply;
	uint8_t *bytes;
	size_t len;

	/* Notices say themselves when it is too little. */
	if (kind != 2)
		room += HEADERS;
	bytes = malloc(room ? room : 1);
	FUZZ_CHECK(bytes);
	if (kind == 2) {
		notice(&input, bytes, room);
		free(bytes);
		return 0;
	}
	reply_begin(&reply, bytes, room);
	if (kind == 0)
		folder(&input, &reply);
	else
		plain(&input, &reply);
	len = reply_end(&reply, share, 0x123456789aULL, error);
	FUZZ_CHECK(len <= room && (!error || len == HEADERS));
	check_record(bytes, len, share, 0x123456789aULL, -error);
	free(bytes);
	return 0;
}
