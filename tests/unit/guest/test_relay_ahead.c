/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay_ahead.c - answers that came before their requests; tickets
 */
#include "guest/relay_ahead.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>

#include "guest/relay_ticket.h"
#include "lib/tap.h"
#include "proto/cursor.h"

static struct ahead_table table;
static uint8_t payload[70000], bytes[512];

static bool add(uint32_t opcode, uint64_t node, uint64_t offset,
		const char *body, size_t len)
{
	struct writer w = writer_over(payload, sizeof(payload));

	writer_u32(&w, opcode);
	writer_u32(&w, 0);
	writer_u64(&w, node);
	writer_u64(&w, offset);
	writer_bytes(&w, body, len);
	return ahead_add(&table, 1, payload, writer_len(&w));
}

static size_t request(uint32_t opcode, uint64_t node, uint64_t offset,
		      uint32_t size)
{
	struct fuse_in_header head = { .opcode = opcode, .nodeid = node };
	struct fuse_read_in in = { .offset = offset, .size = size };

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &in, sizeof(in));
	return sizeof(head) + sizeof(in);
}

static bool ask(uint32_t opcode, uint64_t node, uint64_t offset, uint32_t size,
		const char *expected)
{
	size_t len = request(opcode, node, offset, size);
	struct ahead_answer answer;

	if (!ahead_find(&table, 1, bytes, len, &answer))
		return false;
	CHECK(answer.len == strlen(expected) &&
	      !memcmp(answer.bytes, expected, answer.len));
	ahead_used(&table, 1, bytes, len);
	return true;
}

static void a_file_is_read_in_parts_and_then_gone(void)
{
	ahead_init(&table);
	CHECK(add(FUSE_READ, 7, 0, "0123456789", 10));
	CHECK(!ask(FUSE_READ, 8, 0, 4, ""));
	CHECK(!ask(FUSE_READDIR, 7, 0, 4, ""));
	CHECK(ask(FUSE_READ, 7, 0, 4, "0123"));
	CHECK(ask(FUSE_READ, 7, 8, 2, "89"));
	CHECK(!ask(FUSE_READ, 7, 0, 4, ""));
	CHECK(add(FUSE_READ, 7, 0, "0123", 4));
	CHECK(ask(FUSE_READ, 7, UINT64_MAX, 4, ""));
	CHECK(table.count == 0 && table.bytes == 0);
}

static void the_end_of_a_folder_is_told_until_it_changes(void)
{
	ahead_init(&table);
	CHECK(add(FUSE_READDIR, 7, 99, "", 0));
	CHECK(!ask(FUSE_READDIRPLUS, 7, 98, 4096, ""));
	CHECK(ask(FUSE_READDIRPLUS, 7, 99, 4096, ""));
	CHECK(ask(FUSE_READDIRPLUS, 7, 99, 4096, ""));
	ahead_drop(&table, 1, 7);
	CHECK(!ask(FUSE_READDIRPLUS, 7, 99, 4096, ""));
}

static bool absent(uint64_t node, const char *name)
{
	struct fuse_in_header head = { .opcode = FUSE_LOOKUP, .nodeid = node };
	size_t len = sizeof(head) + strlen(name) + 1;
	uint64_t seconds = 0;

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), name, strlen(name) + 1);
	CHECK(!ahead_is_absent(&table, 1, bytes, len - 1, &seconds));
	return ahead_is_absent(&table, 1, bytes, len, &seconds) &&
	       seconds == 600;
}

static void absent_names_are_told_until_the_folder_changes(void)
{
	ahead_init(&table);
	CHECK(!absent(7, ".git"));
	CHECK(add(FUSE_LOOKUP, 7, 600, ".gitignore\0.git", 16));
	CHECK(add(FUSE_READDIR, 7, 99, "", 0));
	CHECK(absent(7, ".git") && absent(7, ".gitignore"));
	CHECK(absent(7, ".git") && !absent(7, ".gi") && !absent(8, ".git"));
	ahead_drop_changed(&table, 1, bytes, request(FUSE_CREATE, 7, 0, 0));
	CHECK(!absent(7, ".git") && table.count == 0);
}

static void nothing_is_kept_of_what_a_request_changes(void)
{
	static const uint32_t opcodes[] = {
		FUSE_WRITE,   FUSE_SETATTR, FUSE_FALLOCATE, FUSE_CREATE,
		FUSE_MKNOD,   FUSE_MKDIR,   FUSE_SYMLINK,   FUSE_UNLINK,
		FUSE_RMDIR,   FUSE_RENAME,  FUSE_RENAME2,   FUSE_LINK,
		FUSE_DESTROY, 9999,
	};
	size_t len;

	ahead_init(&table);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		add(FUSE_READ, 7, 0, "x", 1);
		len = request(opcodes[i], 7, 0, 0);
		CHECK(ahead_changes(bytes, len, 7));
		CHECK(!ahead_changes(bytes, len, 8));
		ahead_drop_changed(&table, 1, bytes, len);
		CHECK(table.count == 0);
	}
	add(FUSE_READ, 7, 0, "x", 1);
	ahead_drop_changed(&table, 1, bytes, request(FUSE_READ, 7, 0, 1));
	ahead_drop_changed(&table, 1, bytes, request(FUSE_GETATTR, 7, 0, 1));
	CHECK(table.count == 1);
	ahead_drop(&table, 0, 7);
	CHECK(table.count == 1);
	ahead_clear(&table);
}

static void the_other_folder_of_a_rename_is_dropped_too(void)
{
	struct fuse_in_header head = { .opcode = FUSE_RENAME, .nodeid = 7 };
	struct fuse_copy_file_range_in copy = { .nodeid_out = 9 };
	uint64_t newdir = 8;

	ahead_init(&table);
	add(FUSE_READDIR, 8, 1, "", 0);
	add(FUSE_READ, 9, 0, "x", 1);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &newdir, sizeof(newdir));
	/* Too short to say: then only the header counts. */
	ahead_drop_changed(&table, 1, bytes, sizeof(head) + 4);
	CHECK(table.count == 2);
	ahead_drop_changed(&table, 1, bytes, sizeof(head) + 8);
	CHECK(table.count == 1);
	head.opcode = FUSE_COPY_FILE_RANGE;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &copy, sizeof(copy));
	CHECK(ahead_changes(bytes, sizeof(head) + sizeof(copy), 9));
	ahead_drop_changed(&table, 1, bytes, sizeof(head) + sizeof(copy));
	CHECK(table.count == 0);
}

static void only_whole_files_and_folders_are_taken(void)
{
	ahead_init(&table);
	CHECK(!add(FUSE_READ, 7, 4096, "x", 1));
	CHECK(!add(FUSE_READ, 0, 0, "x", 1));
	CHECK(!add(FUSE_LOOKUP, 7, 0, "x", 1));
	CHECK(!add(FUSE_LOOKUP, 7, 0, "", 0));
	CHECK(!add(FUSE_GETATTR, 7, 0, "x", 1));
	for (size_t len = 0; len < 24; len++)
		CHECK(!ahead_add(&table, 1, payload, len));
	CHECK(table.count == 0);
}

static void what_is_kept_is_bounded(void)
{
	static char body[65536];

	ahead_init(&table);
	for (uint64_t i = 1; i < 1000; i++)
		add(FUSE_READ, i, 0, body, sizeof(body));
	CHECK(table.bytes < AHEAD_BYTES_MAX + 2 * sizeof(body));
	ahead_clear(&table);
	for (uint64_t i = 1; i < 2 * AHEAD_COUNT_MAX; i++)
		add(FUSE_READDIR, i, 0, "", 0);
	CHECK(table.count <= AHEAD_COUNT_MAX);
	ahead_clear(&table);
	CHECK(table.bytes == 0);
}

static bool is_absent(uint64_t node, const char *name)
{
	struct fuse_in_header head = { .opcode = FUSE_LOOKUP, .nodeid = node };
	uint64_t seconds = 0;

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), name, strlen(name) + 1);
	return ahead_is_absent(&table, 1, bytes,
			       sizeof(head) + strlen(name) + 1, &seconds) &&
	       seconds == 600;
}

static void create(uint64_t node, const char *name)
{
	struct fuse_in_header head = { .opcode = FUSE_CREATE, .nodeid = node };
	size_t at = sizeof(head) + sizeof(struct fuse_create_in);

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + at, name, strlen(name) + 1);
	ahead_drop_changed(&table, 1, bytes, at + strlen(name) + 1);
}

static void attributes_are_told_once_and_not_after_a_change(void)
{
	struct fuse_attr_out attr = { .attr.size = 77 }, got = { 0 };

	ahead_init(&table);
	CHECK(add(FUSE_GETATTR, 7, 0, (char *)&attr, sizeof(attr)));
	CHECK(!add(FUSE_GETATTR, 8, 0, (char *)&attr, sizeof(attr) - 1));
	CHECK(!ahead_take_attr(&table, 1, 8, &got));
	CHECK(!ahead_take_attr(&table, 2, 7, &got));
	CHECK(ahead_take_attr(&table, 1, 7, &got) && got.attr.size == 77);
	CHECK(!ahead_take_attr(&table, 1, 7, &got));
	CHECK(add(FUSE_GETATTR, 7, 0, (char *)&attr, sizeof(attr)));
	create(7, "a");
	CHECK(!ahead_take_attr(&table, 1, 7, &got));
	CHECK(table.count == 0 && table.bytes == 0);
}

static void a_new_folder_has_what_was_put_into_it(void)
{
	uint64_t into = 7;
	char name[16];
	size_t len;

	ahead_init(&table);
	CHECK(!add(FUSE_MKDIR, 7, 600, "x", 1));
	CHECK(add(FUSE_MKDIR, 7, 600, "", 0));
	CHECK(is_absent(7, "a") && is_absent(7, "b") && !is_absent(8, "a"));
	create(7, "a");
	create(8, "b");
	CHECK(!is_absent(7, "a") && is_absent(7, "b"));
	ahead_drop_changed(&table, 1, bytes, request(FUSE_SETATTR, 7, 0, 0));
	CHECK(is_absent(7, "b"));
	len = request(FUSE_RENAME, 9, 0, 0);
	memcpy(bytes + sizeof(struct fuse_in_header), &into, sizeof(into));
	ahead_drop_changed(&table, 1, bytes, len);
	CHECK(!is_absent(7, "b"));
	CHECK(add(FUSE_MKDIR, 7, 600, "", 0));
	for (int i = 0; i <= 2048; i++) {
		CHECK(is_absent(7, "nobody"));
		name[0] = (char)('a' + i % 26);
		name[1] = (char)('a' + i / 26 % 26);
		name[2] = (char)('a' + i / 26 / 26);
		name[3] = '\0';
		create(7, name);
		CHECK(!is_absent(7, name));
	}
	CHECK(!is_absent(7, "nobody"));
	CHECK(table.count == 0 && table.bytes == 0);
}

static bool is_unused(uint64_t node, const char *name)
{
	struct fuse_in_header head = { .opcode = FUSE_CREATE, .nodeid = node };
	size_t at = sizeof(head) + sizeof(struct fuse_create_in);
	uint64_t seconds;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + at, name, strlen(name) + 1);
	return ahead_is_unused(&table, 1, bytes, at + strlen(name) + 1,
			       &seconds);
}

/* The host may take one name for the other. */
static void names_that_may_be_the_same_are_asked_for(void)
{
	ahead_init(&table);
	CHECK(add(FUSE_MKDIR, 7, 600, "", 0));
	CHECK(is_unused(7, "readme") && is_absent(7, "readme"));
	create(7, "README");
	CHECK(!is_unused(7, "readme") && !is_absent(7, "Readme"));
	CHECK(is_unused(7, "read_me") && is_unused(7, "[") &&
	      is_unused(7, "{"));
	/* K is a sign of its own, the one of kelvin. */
	CHECK(!is_unused(7, "\xe2\x84\xaa") && !is_absent(7, "\xe2\x84\xaa"));
	create(7, "\xe2\x84\xaa");
	CHECK(!is_unused(7, "k") && !is_absent(7, "k") && !is_absent(7, "x"));
	CHECK(table.count == 0 && table.bytes == 0);
}

static void a_ticket_has_one_path_or_two(void)
{
	static struct ticket_record ticket;
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_u32(&w, TICKET_RENAME | S_IFREG);
	writer_u32(&w, 5);
	writer_str(&w, "a/b");
	CHECK(ticket_record_decode(bytes, writer_len(&w), &ticket) < 0);
	writer_str(&w, "c");
	CHECK(ticket_record_decode(bytes, writer_len(&w), &ticket) == 0);
	CHECK(ticket.kind == TICKET_RENAME && ticket.type == S_IFREG &&
	      ticket.number == 5);
	CHECK(!strcmp(ticket.path, "a/b") && !strcmp(ticket.path2, "c"));
	for (size_t len = 0; len < writer_len(&w); len++)
		CHECK(ticket_record_decode(bytes, len, &ticket) < 0);
	bytes[0] = TICKET_REMOVE;
	CHECK(ticket_record_decode(bytes, writer_len(&w), &ticket) < 0);
	bytes[0] = TICKET_KINDS;
	CHECK(ticket_record_decode(bytes, writer_len(&w), &ticket) < 0);
}

int main(void)
{
	RUN(a_file_is_read_in_parts_and_then_gone);
	RUN(the_end_of_a_folder_is_told_until_it_changes);
	RUN(absent_names_are_told_until_the_folder_changes);
	RUN(nothing_is_kept_of_what_a_request_changes);
	RUN(the_other_folder_of_a_rename_is_dropped_too);
	RUN(only_whole_files_and_folders_are_taken);
	RUN(what_is_kept_is_bounded);
	RUN(attributes_are_told_once_and_not_after_a_change);
	RUN(a_new_folder_has_what_was_put_into_it);
	RUN(names_that_may_be_the_same_are_asked_for);
	RUN(a_ticket_has_one_path_or_two);
	return DONE();
}
