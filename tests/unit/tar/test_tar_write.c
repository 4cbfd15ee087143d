/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tar_write.c - what is written is read back as it was
 */
#include "tar/tar_write.h"

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"
#include "tar/tar_header.h"
#include "tar/tar_read.h"

struct seen {
	int entries, ends;
	char path[TAR_PATH_MAX], target[TAR_PATH_MAX], note[32];
	char attribute[64];
	struct tar_entry entry;
	uint64_t bytes;
};

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct seen *seen = ctx;

	seen->entries++;
	seen->entry = *entry;
	text_copy(seen->path, sizeof(seen->path), entry->path);
	text_copy(seen->target, sizeof(seen->target),
		  entry->target ? entry->target : "");
	text_copy(seen->note, sizeof(seen->note),
		  entry->note ? entry->note : "");
	seen->attribute[0] = '\0';
	if (entry->xattr_count)
		text_format(seen->attribute, sizeof(seen->attribute), "%s=%.*s",
			    entry->xattrs[0].name, (int)entry->xattrs[0].len,
			    (const char *)entry->xattrs[0].value);
	return 0;
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	((struct seen *)ctx)->bytes += len;
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	((struct seen *)ctx)->ends++;
	return 0;
}

/* Writes one entry with that many bytes and reads it in pieces of piece. */
static int round_trip(const struct tar_entry *entry, size_t content,
		      size_t piece, struct seen *seen)
{
	static const char zeroes[4096];
	struct buffer out = BUFFER_INIT(1u << 20);
	struct tar_limits limits = { 10, 1u << 20 };
	struct tar_events events = { on_entry, on_data, on_end, seen };
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	struct error err = { 0 };
	int result = tar_write_entry(entry, &out);

	*seen = (struct seen){ 0 };
	buffer_append(&out, zeroes, content + tar_padding(content));
	tar_write_end(&out);
	for (size_t at = 0; at < out.len && result == 0; at += piece)
		result = tar_reader_feed(
			reader, out.data + at,
			piece < out.len - at ? piece : out.len - at, &err);
	if (result == 0)
		result = tar_reader_finish(reader, &err);
	if (result < 0)
		printf("# %s\n", err.text);
	tar_reader_free(reader);
	buffer_release(&out);
	return result;
}

static void a_file_comes_back_in_pieces_of_any_size(void)
{
	struct tar_entry entry = { .path = "a/b",
				   .mode = S_IFREG | 0640,
				   .size = 700,
				   .mtime = 1700000000,
				   .uid = 1000,
				   .gid = 100 };
	static const size_t pieces[] = { 1, 7, 511, 512, 513, 100000 };
	struct seen seen;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		REQUIRE(round_trip(&entry, 700, pieces[i], &seen) == 0);
		CHECK(!strcmp(seen.path, "a/b") && seen.entries == 1);
		CHECK(seen.bytes == 700 && seen.ends == 1);
		CHECK(seen.entry.mode == (S_IFREG | 0640));
		CHECK(seen.entry.mtime == 1700000000);
		CHECK(seen.entry.uid == 1000 && seen.entry.gid == 100);
	}
}

static void long_names_and_targets_come_back(void)
{
	char path[3000], target[3000];
	struct tar_entry entry = { .path = path,
				   .target = target,
				   .mode = S_IFLNK | 0777 };
	struct seen seen;

	for (size_t i = 0; i < sizeof(path); i++) {
		path[i] = i % 100 == 50 ? '/' : 'p';
		target[i] = 't';
	}
	path[sizeof(path) - 1] = target[sizeof(target) - 1] = '\0';
	REQUIRE(round_trip(&entry, 0, 4096, &seen) == 0);
	CHECK(!strcmp(seen.path, path) && !strcmp(seen.target, target));
	CHECK(S_ISLNK(seen.entry.mode) && !seen.entry.hard_link);
	path[100] = target[100] = '\0'; /* fills the field: no NUL there */
	REQUIRE(round_trip(&entry, 0, 4096, &seen) == 0);
	CHECK(!strcmp(seen.path, path) && !strcmp(seen.target, target));
}

static void times_come_back_to_the_nanosecond(void)
{
	static const struct {
		int64_t seconds;
		uint32_t ns;
	} times[] = { { 0, 0 },          { 1, 1 },
		      { -1, 0 },         { -2, 500000000 },
		      { -1, 999999999 }, { 1ll << 40, 123456789 } };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct tar_entry entry = { .path = "t",
					   .mode = S_IFREG,
					   .mtime = times[i].seconds,
					   .mtime_ns = times[i].ns };
		struct seen seen;

		REQUIRE(round_trip(&entry, 0, 512, &seen) == 0);
		CHECK(seen.entry.mtime == times[i].seconds);
		CHECK(seen.entry.mtime_ns == times[i].ns);
	}
}

static void attributes_and_notes_come_back(void)
{
	struct tar_xattr attribute = { "user.x", "va\nlue", 6 };
	struct tar_entry entry = { .path = "folder",
				   .mode = S_IFDIR | 01755,
				   .xattrs = &attribute,
				   .xattr_count = 1,
				   .note = TAR_NOTE_OPAQUE };
	struct seen seen;

	REQUIRE(round_trip(&entry, 0, 512, &seen) == 0);
	CHECK(!strcmp(seen.attribute, "user.x=va\nlue"));
	CHECK(!strcmp(seen.note, TAR_NOTE_OPAQUE));
	CHECK(seen.entry.mode == (S_IFDIR | 01755));
}

static void names_of_attributes_may_hold_anything(void)
{
	static const char *const names[] = {
		"user.a=b", "user.=",    "user.%",     "user.%3D",
		"user.%25", "user.%%3D", "user.%2=5D", "user.%2525=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct tar_xattr attribute = { names[i], "1=2", 3 };
		struct tar_entry entry = { .path = "f",
					   .mode = S_IFREG,
					   .xattrs = &attribute,
					   .xattr_count = 1 };
		char expected[64];
		struct seen seen;

		text_format(expected, sizeof(expected), "%s=1=2", names[i]);
		REQUIRE(round_trip(&entry, 0, 512, &seen) == 0);
		CHECK(!strcmp(seen.attribute, expected));
	}
}

static void attributes_of_the_system_are_not_read(void)
{
	struct tar_xattr attribute = { "security.capability", "x", 1 };
	struct tar_entry entry = { .path = "f",
				   .mode = S_IFREG,
				   .xattrs = &attribute,
				   .xattr_count = 1 };
	struct seen seen;

	REQUIRE(round_trip(&entry, 0, 512, &seen) == 0);
	CHECK(seen.entry.xattr_count == 0);
}

static void the_root_and_hard_links_come_back(void)
{
	struct tar_entry root = { .path = "", .mode = S_IFDIR | 0755 };
	struct tar_entry link = { .path = "b",
				  .mode = S_IFREG | 0644,
				  .target = "a/x",
				  .hard_link = true };
	struct seen seen;

	REQUIRE(round_trip(&root, 0, 512, &seen) == 0);
	CHECK(!strcmp(seen.path, "") && S_ISDIR(seen.entry.mode));
	REQUIRE(round_trip(&link, 0, 512, &seen) == 0);
	CHECK(seen.entry.hard_link && !strcmp(seen.target, "a/x"));
}

static void large_numbers_go_to_pax(void)
{
	struct tar_entry entry = { .path = "big",
				   .mode = S_IFREG,
				   .size = 1ull << 40,
				   .uid = 4000000000u };
	struct buffer out = BUFFER_INIT(1u << 16);

	REQUIRE(tar_write_entry(&entry, &out) == 0);
	CHECK(out.len == 3 * TAR_BLOCK);
	CHECK(memmem(out.data, out.len, "size=1099511627776\n", 19));
	CHECK(memmem(out.data, out.len, "uid=4000000000\n", 15));
	buffer_release(&out);
}

static void numbers_of_gnu_are_understood(void)
{
	const char positive[12] = "\x80\0\0\0\0\0\0\1\0\0\0\2";
	const char negative[12] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
				  "\xff\xfe";
	const char huge[12] = "\x80\0\0\1\0\0\0\0\0\0\0\0";
	const char odd[12] = "\x90";
	int64_t value;

	REQUIRE(tar_header_get(positive, 12, &value) == 0);
	CHECK(value == (1ll << 32) + 2);
	REQUIRE(tar_header_get(negative, 12, &value) == 0);
	CHECK(value == -2);
	CHECK(tar_header_get(huge, 12, &value) < 0);
	CHECK(tar_header_get(odd, 12, &value) < 0);
	REQUIRE(tar_header_get("  17 \0", 6, &value) == 0 && value == 15);
	CHECK(tar_header_get("18", 2, &value) < 0);
	CHECK(tar_header_get("1x", 2, &value) < 0);
}

int main(void)
{
	RUN(a_file_comes_back_in_pieces_of_any_size);
	RUN(long_names_and_targets_come_back);
	RUN(times_come_back_to_the_nanosecond);
	RUN(attributes_and_notes_come_back);
	RUN(names_of_attributes_may_hold_anything);
	RUN(attributes_of_the_system_are_not_read);
	RUN(the_root_and_hard_links_come_back);
	RUN(large_numbers_go_to_pax);
	RUN(numbers_of_gnu_are_understood);
	return DONE();
}
