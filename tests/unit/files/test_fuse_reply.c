/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fuse_reply.c - records that a kernel can read, never more than fits
 */
#include "files/fuse_reply.h"

#include <errno.h>

#include "proto/record.h"
#include "lib/tap.h"

#define HEADERS (RECORD_HEADER_BYTES + sizeof(struct fuse_out_header))

static uint8_t bytes[4096];

static struct fuse_out_header header(void)
{
	struct fuse_out_header head;

	memcpy(&head, bytes + RECORD_HEADER_BYTES, sizeof(head));
	return head;
}

static void a_reply_says_its_length_twice(void)
{
	struct record record;
	struct reply reply;

	reply_begin(&reply, bytes, sizeof(bytes));
	CHECK(reply_add(&reply, "body", 4) == 0);
	CHECK(reply_end(&reply, 3, 99, 0) == HEADERS + 4);
	CHECK(record_decode(bytes, &record) == 0);
	CHECK(record.type == RECORD_FUSE && record.share == 3 &&
	      record.len == sizeof(struct fuse_out_header) + 4);
	CHECK(header().len == record.len && header().unique == 99 &&
	      header().error == 0);
}

static void an_error_has_no_body(void)
{
	struct reply reply;

	reply_begin(&reply, bytes, sizeof(bytes));
	reply_add(&reply, "body", 4);
	CHECK(reply_end(&reply, 0, 1, ENOENT) == HEADERS);
	CHECK(header().error == -ENOENT);
}

static void what_does_not_fit_is_not_added(void)
{
	struct reply reply;

	reply_begin(&reply, bytes, HEADERS + 4);
	CHECK(reply_add(&reply, "12345", 5) < 0);
	CHECK(reply_add(&reply, "1234", 4) == 0);
	CHECK(reply_add(&reply, "x", 1) < 0);
	CHECK(reply.len == HEADERS + 4);
}

static void entries_stop_at_the_limit(void)
{
	struct reply_dirent entry = { .ino = 1, .name = "name", .name_len = 4 };
	struct fuse_entry_out out = { 0 };
	struct reply reply;
	int count = 0;

	reply_begin(&reply, bytes, sizeof(bytes));
	while (reply_dirent(&reply, 100, &entry))
		count++;
	CHECK(count == 3); /* 32 bytes each */
	reply_begin(&reply, bytes, sizeof(bytes));
	for (count = 0; reply_direntplus(&reply, 500, &out, &entry);)
		count++;
	CHECK(count == 3); /* 160 bytes each */
	CHECK(!reply_fits_direntplus(&reply, 500, 4));
	reply_begin(&reply, bytes, HEADERS + 10);
	CHECK(!reply_dirent(&reply, 1000, &entry));
}

static void notices_have_no_unique(void)
{
	size_t len = reply_inval_inode(bytes, sizeof(bytes), 1, 77, true);

	CHECK(len == HEADERS + sizeof(struct fuse_notify_inval_inode_out));
	CHECK(header().unique == 0 &&
	      header().error == FUSE_NOTIFY_INVAL_INODE);
	len = reply_inval_entry(bytes, sizeof(bytes), 1, 77, "name");
	CHECK(len == HEADERS + sizeof(struct fuse_notify_inval_entry_out) + 5);
	CHECK(header().error == FUSE_NOTIFY_INVAL_ENTRY);
	CHECK(reply_inval_entry(bytes, HEADERS + 20, 1, 77, "name") == 0);
	CHECK(reply_inval_inode(bytes, HEADERS, 1, 77, true) == 0);
}

int main(void)
{
	RUN(a_reply_says_its_length_twice);
	RUN(an_error_has_no_body);
	RUN(what_does_not_fit_is_not_added);
	RUN(entries_stop_at_the_limit);
	RUN(notices_have_no_unique);
	return DONE();
}
