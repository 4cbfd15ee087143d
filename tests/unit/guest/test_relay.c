/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay.c - the pure parts of the files relay: requests without an
 * answer, changes that were answered early
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "guest/relay_known.h"
#include "guest/relay_pending.h"
#include "guest/relay_writes.h"
#include "lib/tap.h"
#include "proto/record.h"

static struct pending *add(struct pending_table *table, unsigned share,
			   uint64_t unique, uint32_t opcode, size_t len)
{
	uint8_t *bytes = xcalloc(1, len);
	struct fuse_in_header head = { .len = (uint32_t)len,
				       .opcode = opcode,
				       .unique = unique,
				       .nodeid = unique + 1000 };
	struct pending *pending;

	memcpy(bytes, &head, sizeof(head));
	bytes[len - 1] = (uint8_t)unique;
	pending = pending_add(table, share, bytes, len);
	free(bytes);
	return pending;
}

static void a_request_is_found_by_its_share_and_number(void)
{
	struct pending_table table;
	struct pending *first, *second;

	pending_init(&table);
	first = add(&table, 0, 2, FUSE_LOOKUP, 60);
	second = add(&table, 1, 2, FUSE_LOOKUP, 60);
	add(&table, 0, 2 + 2 * PENDING_BUCKETS, FUSE_GETATTR, 56);
	CHECK(pending_find(&table, 0, 2) == first);
	CHECK(pending_find(&table, 1, 2) == second);
	CHECK(!pending_find(&table, 2, 2) && !pending_find(&table, 0, 4));
	CHECK(first->opcode == FUSE_LOOKUP && first->node == 1002);
	CHECK(first->len == 60 && first->bytes[59] == 2);
	pending_remove(&table, first);
	CHECK(!pending_find(&table, 0, 2) && table.count == 2);
	CHECK(pending_find(&table, 0, 2 + 2 * PENDING_BUCKETS));
	pending_release(&table);
}

static void requests_are_sent_again_in_their_order(void)
{
	struct pending_table table;

	pending_init(&table);
	pending_rewind(&table);
	CHECK(!pending_next(&table));
	for (uint64_t i = 1; i <= 5; i++)
		add(&table, 0, i * 2, FUSE_LOOKUP, 60);
	pending_remove(&table, pending_find(&table, 0, 4));
	pending_rewind(&table);
	CHECK(pending_next(&table)->unique == 2);
	CHECK(pending_next(&table)->unique == 6);
	/* The next one leaves while it is waited for. */
	pending_remove(&table, pending_find(&table, 0, 8));
	CHECK(pending_next(&table)->unique == 10);
	CHECK(!pending_next(&table) && !table.resend);
	pending_release(&table);
}

static void requests_of_every_size_are_kept_and_used_again(void)
{
	static const size_t sizes[] = {
		40, 512, 513, 8192, 8193, 65535, 65536, RECORD_PAYLOAD_MAX
	};
	struct pending_table table;

	pending_init(&table);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct pending *pending =
				add(&table, 3, i + 1, FUSE_WRITE, sizes[i]);

			CHECK(pending->bytes[sizes[i] - 1] == i + 1);
		}
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			pending_remove(&table, pending_find(&table, 3, i + 1));
		CHECK(!table.count && !table.writes && !table.write_bytes);
	}
	pending_release(&table);
}

static void writes_and_requests_have_a_limit(void)
{
	struct pending_table table;
	uint64_t unique = 0;

	pending_init(&table);
	while (pending_has_room(&table) && unique <= PENDING_WRITES_MAX)
		add(&table, 0, ++unique, FUSE_WRITE, 100);
	CHECK(unique == PENDING_WRITES_MAX);
	pending_release(&table);
	pending_init(&table);
	for (unique = 0; pending_has_room(&table) && unique < 100;)
		add(&table, 0, ++unique, FUSE_WRITE, 1 << 20);
	CHECK(unique == 32);
	pending_release(&table);
	pending_init(&table);
	for (unique = 0; pending_has_room(&table) && unique <= PENDING_MAX;)
		add(&table, 0, ++unique, FUSE_LOOKUP, 60);
	CHECK(unique == PENDING_MAX);
	pending_release(&table);
}

static void answers_fit_beside_the_port(void)
{
	struct {
		struct fuse_in_header head;
		struct fuse_read_in in;
	} request = { .head = { .opcode = FUSE_READ },
		      .in = { .size = 1 << 20 } };
	struct pending_table table;

	pending_init(&table);
	while (pending_has_room(&table) && request.head.unique < 100) {
		request.head.unique += 2;
		pending_add(&table, 0, &request, sizeof(request));
	}
	/* and as much again for what is on its way back */
	CHECK(table.read_bytes == BULK_BYTES / 2);
	pending_remove(&table, pending_find(&table, 0, 2));
	CHECK(pending_has_room(&table));
	/* one that is too short to say asks for nothing */
	request.head.unique = 200;
	pending_add(&table, 0, &request, sizeof(request) - 1);
	CHECK(table.read_bytes == BULK_BYTES / 2 - (1 << 20));
	pending_release(&table);
	CHECK(!table.read_bytes);
}

static void an_error_is_told_once_and_the_first_one(void)
{
	struct writes writes;

	writes_init(&writes);
	CHECK(writes_may_answer(&writes, 2, 9));
	writes_failed(&writes, 2, 9, 0);
	CHECK(writes_may_answer(&writes, 2, 9) && !writes.errors);
	writes_failed(&writes, 2, 9, EDQUOT);
	writes_failed(&writes, 2, 9, EIO);
	CHECK(!writes_may_answer(&writes, 2, 9));
	CHECK(writes_may_answer(&writes, 2, 8));
	CHECK(writes_may_answer(&writes, 1, 9));
	CHECK(writes_take_error(&writes, 1, 9) == 0);
	CHECK(writes_take_error(&writes, 2, 9) == EDQUOT);
	CHECK(writes_take_error(&writes, 2, 9) == 0);
	CHECK(writes_may_answer(&writes, 2, 9));
	writes_release(&writes);
}

static void errors_of_forgotten_nodes_are_forgotten(void)
{
	struct writes writes;

	writes_init(&writes);
	for (uint64_t node = 1; node <= WRITES_ERRORS_MAX + 10; node++)
		writes_failed(&writes, 0, node, EIO);
	CHECK(writes.errors == WRITES_ERRORS_MAX);
	for (uint64_t node = 1; node <= WRITES_ERRORS_MAX + 10; node++)
		writes_forget(&writes, 0, node);
	CHECK(writes.errors == 0);
	writes_release(&writes);
}

static struct known_table known;

/* As the answer to CREATE of node 9 in folder 3. */
static struct known *make_known(uint32_t nlink)
{
	struct fuse_entry_out entry = {
		.nodeid = 9,
		.attr = { .mode = S_IFREG | 0644,
			  .nlink = nlink,
			  .uid = 1000,
			  .gid = 1000,
			  .ino = 77 },
	};

	known_clear(&known);
	known_answered(&known, 2, 3, &entry, sizeof(entry));
	return known_find(&known, 2, 9);
}

static bool set(struct known *slot, uint32_t valid, struct fuse_setattr_in in,
		struct fuse_attr_out *out)
{
	struct timespec now = { .tv_sec = 500, .tv_nsec = 5 };

	in.valid = valid;
	return known_set(slot, &in, &now, out);
}

static void times_and_mode_of_a_new_file_are_known(void)
{
	struct known *slot = make_known(1);
	struct fuse_setattr_in in = {
		.atime = 1, .mtime = 2, .mtimensec = 3, .mode = S_IFREG | 0600
	};
	struct fuse_write_in write = { .offset = 100, .size = 11 };
	struct fuse_attr_out out;

	CHECK(slot && !known_find(&known, 1, 9) && !known_find(&known, 2, 8));
	known_write(slot, &write);
	write.offset = 0;
	known_write(slot, &write);
	CHECK(set(slot, FATTR_ATIME | FATTR_MTIME | FATTR_FH, in, &out));
	CHECK(out.attr_valid == 0 && out.attr.size == 111);
	CHECK(out.attr.atime == 1 && out.attr.mtime == 2);
	CHECK(out.attr.mtimensec == 3 && out.attr.ctime == 500);
	CHECK(out.attr.mode == (S_IFREG | 0644) && out.attr.ino == 77);
	CHECK(set(slot, FATTR_MODE, in, &out));
	CHECK(out.attr.mode == (S_IFREG | 0600) && out.attr.mtime == 2);
	CHECK(set(slot, FATTR_MTIME | FATTR_MTIME_NOW, in, &out));
	CHECK(out.attr.mtime == 500 && out.attr.mtimensec == 5);
}

static void what_only_the_server_knows_is_asked_for(void)
{
	struct known *slot = make_known(1);
	struct fuse_write_in append = { .size = 1, .flags = O_APPEND };
	struct fuse_write_in far = { .offset = UINT64_MAX, .size = 2 };
	struct fuse_attr_out out;

	CHECK(!set(slot, FATTR_SIZE, (struct fuse_setattr_in){ 0 }, &out));
	CHECK(!set(slot, FATTR_UID, (struct fuse_setattr_in){ 0 }, &out));
	CHECK(set(slot, FATTR_UID | FATTR_GID,
		  (struct fuse_setattr_in){ .uid = 1000, .gid = 1000 }, &out));
	CHECK(!set(slot, FATTR_GID, (struct fuse_setattr_in){ .gid = 5 },
		   &out));
	CHECK(!set(slot, FATTR_MODE, (struct fuse_setattr_in){ .mode = 04755 },
		   &out));
	CHECK(!set(slot, FATTR_MTIME,
		   (struct fuse_setattr_in){ .mtimensec = 1000000000 }, &out));
	CHECK(!set(slot, 1U << 31, (struct fuse_setattr_in){ 0 }, &out));
	known_write(slot, &append);
	CHECK(!set(slot, FATTR_MODE, (struct fuse_setattr_in){ 0 }, &out));
	slot = make_known(1);
	known_write(slot, &far);
	CHECK(!slot->has_attr);
	/* With a second name it may be changed where nobody looks. */
	CHECK(!make_known(2)->has_attr);
	known_clear(&known);
	known_answered(&known, 2, 3, &out, 4);
	CHECK(!known_find(&known, 2, 9));
	known_changed(&known, 2, 9);
	CHECK(known_find(&known, 2, 9) && !known_find(&known, 2, 9)->has_attr);
	known_drop(&known, 2, 9);
	CHECK(!known_find(&known, 2, 9));
}

static void the_size_of_what_was_written_is_the_kernels(void)
{
	struct known *slot = make_known(1);
	struct fuse_write_in write = { .size = 3 };
	struct timespec now = { .tv_sec = 500 };
	struct fuse_attr attr = { .mode = S_IFREG };

	known_told(&known, 2, 9, &attr, 500);
	CHECK(!known_take_size(slot, &now)); /* nothing was written */
	known_write(slot, &write);
	CHECK(known_take_size(slot, &now));
	/* Who asks again wants an answer. */
	CHECK(!known_take_size(slot, &now));
	known_write(slot, &write);
	now.tv_sec = 501; /* once in a second the server is asked */
	CHECK(!known_take_size(slot, &now));
	known_told(&known, 2, 9, &attr, 501);
	known_write(slot, &write);
	CHECK(known_take_size(slot, &now));
	known_changed(&known, 2, 3);
	slot = known_find(&known, 2, 3);
	slot->is_folder = slot->written = true;
	slot->told = 501;
	CHECK(!known_take_size(slot, &now));
}

/* Is the attributes' truth given up when this passes? */
static bool gives_up(uint32_t opcode, uint64_t node, uint64_t other)
{
	struct known *slot = make_known(1);
	struct {
		struct fuse_in_header head;
		uint64_t words[7];
	} request = { .head = { .opcode = opcode, .nodeid = node } };

	request.words[0] = other;
	/* nodeid_out of COPY_FILE_RANGE */
	request.words[2] = other;
	known_drop_changed(&known, 2, &request, sizeof(request));
	known_drop_changed(&known, 2, &request, sizeof(request.head));
	return !slot->node || !slot->has_attr;
}

static void whatever_else_changes_a_file_is_no_longer_known(void)
{
	CHECK(gives_up(FUSE_UNLINK, 3, 0) && !gives_up(FUSE_UNLINK, 4, 0));
	CHECK(gives_up(FUSE_RENAME, 3, 4) && gives_up(FUSE_RENAME2, 4, 3));
	CHECK(!gives_up(FUSE_RENAME, 4, 5));
	CHECK(gives_up(FUSE_LINK, 4, 9) && !gives_up(FUSE_LINK, 9, 4));
	CHECK(gives_up(FUSE_COPY_FILE_RANGE, 4, 9));
	CHECK(gives_up(FUSE_FALLOCATE, 9, 0) && gives_up(FUSE_SETXATTR, 9, 0));
	CHECK(gives_up(FUSE_REMOVEXATTR, 9, 0) && gives_up(FUSE_SETATTR, 9, 0));
	CHECK(!gives_up(FUSE_READ, 9, 9) && !gives_up(FUSE_SETXATTR, 8, 9));
}

static void a_folder_that_names_leave_is_told_of_meanwhile(void)
{
	struct fuse_in_header made = { .opcode = FUSE_MKDIR, .nodeid = 3 };
	struct timespec now = { .tv_sec = 500, .tv_nsec = 5 };
	struct fuse_attr attr = { .mode = S_IFDIR | 0750, .mtime = 7 };
	struct fuse_attr_out out;
	struct known *slot;

	known_clear(&known);
	known_told(&known, 2, 3, &attr, 500);
	CHECK(!known_find(&known, 2, 3));
	known_changed(&known, 2, 3); /* its mode, say */
	known_removed(&known, 2, 3);
	slot = known_find(&known, 2, 3);
	CHECK(slot && slot->is_folder && !known_attr(slot, &now, &out));
	slot->changing = 1;
	CHECK(!known_attr(slot, &now, &out)); /* nobody said what it is */
	known_told(&known, 2, 3, &attr, 500);
	CHECK(known_attr(slot, &now, &out));
	CHECK(out.attr.mode == (S_IFDIR | 0750));
	CHECK(out.attr.mtime == 500 && out.attr.ctimensec == 5);
	CHECK(out.attr_valid == 0 && out.attr_valid_nsec <= 10000000);
	/* One more removal keeps what is known; a new folder does not. */
	known_removed(&known, 2, 3);
	CHECK(slot->changing == 1 && known_attr(slot, &now, &out));
	known_drop_changed(&known, 2, &made, sizeof(made));
	CHECK(!known_attr(slot, &now, &out));
	known_told(&known, 2, 3, &attr, 500);
	slot->changing = 0; /* the server knows better now */
	CHECK(!known_attr(slot, &now, &out));
	/* Of a file it says nothing. */
	slot = make_known(1);
	slot->changing = 1;
	known_told(&known, 2, 9, &attr, 500);
	CHECK(slot->attr.ino == 77 && !known_attr(slot, &now, &out));
}

static void a_large_write_is_kept_where_it_was_read(void)
{
	struct fuse_in_header head = { .opcode = FUSE_WRITE,
				       .unique = 4,
				       .nodeid = 9 };
	size_t len = PENDING_LARGE_FROM + sizeof(head);
	struct pending_table table;
	struct pending *pending;
	uint8_t *bytes;

	pending_init(&table);
	bytes = pending_reserve(&table);
	CHECK(pending_reserve(&table) == bytes);
	memcpy(bytes, &head, sizeof(head));
	memset(bytes + sizeof(head), 7, len - sizeof(head));
	pending = pending_add_reserved(&table, 2, len);
	CHECK(pending_find(&table, 2, 4) == pending && pending->node == 9);
	CHECK(pending->bytes == bytes && pending->bytes[len - 1] == 7);
	CHECK(memcmp(pending->bytes, &head, sizeof(head)) == 0);
	CHECK(table.writes == 1 && table.write_bytes == len);
	CHECK(pending_reserve(&table) != bytes);
	pending_remove(&table, pending);
	pending_release(&table);
}

static void what_was_not_sent_is_the_next(void)
{
	struct pending_table table;
	struct pending *late;

	pending_init(&table);
	add(&table, 0, 2, FUSE_READ, 100);
	late = add(&table, 0, 4, FUSE_WRITE, 100);
	CHECK(!late->sent && !late->in_bulk);
	pending_delay(&table, late);
	CHECK(table.resend == late);
	CHECK(pending_next(&table) == late && !table.resend);
	pending_release(&table);
}

int main(void)
{
	RUN(a_request_is_found_by_its_share_and_number);
	RUN(requests_are_sent_again_in_their_order);
	RUN(requests_of_every_size_are_kept_and_used_again);
	RUN(writes_and_requests_have_a_limit);
	RUN(a_large_write_is_kept_where_it_was_read);
	RUN(what_was_not_sent_is_the_next);
	RUN(answers_fit_beside_the_port);
	RUN(an_error_is_told_once_and_the_first_one);
	RUN(errors_of_forgotten_nodes_are_forgotten);
	RUN(times_and_mode_of_a_new_file_are_known);
	RUN(what_only_the_server_knows_is_asked_for);
	RUN(the_size_of_what_was_written_is_the_kernels);
	RUN(whatever_else_changes_a_file_is_no_longer_known);
	RUN(a_folder_that_names_leave_is_told_of_meanwhile);
	return DONE();
}
