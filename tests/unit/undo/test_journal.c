/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_journal.c - records, torn tails, what is refused
 */
#include "undo/journal.h"

#include <sys/stat.h>

#include "lib/tap.h"

static uint8_t bytes[4096];
static size_t len;

static void begin(void)
{
	journal_head(bytes);
	len = JOURNAL_HEAD_BYTES;
}

static void add(enum journal_type type, const char *path, const char *text)
{
	const struct journal_record record = {
		.type = type,
		.share = 3,
		.number = 7,
		.flags = JOURNAL_DATA,
		.file = { .dev = 1,
			  .ino = 2,
			  .btime_ns = 3,
			  .mode = S_IFREG | 0644,
			  .size = 5,
			  .atime_ns = -6,
			  .mtime_ns = 7 },
		.path = path,
		.text = text,
	};

	len += journal_encode(&record, bytes + len, sizeof(bytes) - len);
}

static int count(size_t size, int *last)
{
	struct journal_reader reader;
	struct journal_record record;
	int found = 0;

	if (journal_begin(&reader, bytes, size) < 0)
		return -1;
	while ((*last = journal_next(&reader, &record)) > 0)
		found++;
	return found;
}

static void a_record_comes_back_as_it_was(void)
{
	const struct journal_xattr one = { .name = "user.a",
					   .value = (const uint8_t *)"xyz",
					   .len = 3 };
	uint8_t xattrs[64];
	struct journal_record record = { .type = JOURNAL_CHANGE,
					 .file = { .mode = S_IFDIR },
					 .path = "",
					 .text = "" };
	struct journal_reader reader;
	struct journal_xattr found;
	size_t at = 0;

	begin();
	record.xattrs = xattrs;
	record.xattrs_len = journal_xattr_add(xattrs, 0, sizeof(xattrs), &one);
	REQUIRE(record.xattrs_len > 0);
	len += journal_encode(&record, bytes + len, sizeof(bytes) - len);
	add(JOURNAL_RENAME, "a/b", "c");
	REQUIRE(journal_begin(&reader, bytes, len) == 0);
	REQUIRE(journal_next(&reader, &record) == 1);
	CHECK(journal_xattr_next(&record, &at, &found) == 1);
	CHECK(strcmp(found.name, "user.a") == 0 && found.len == 3);
	CHECK(journal_xattr_next(&record, &at, &found) == 0);
	REQUIRE(journal_next(&reader, &record) == 1);
	CHECK(record.type == JOURNAL_RENAME && record.share == 3);
	CHECK(record.number == 7 && record.flags == JOURNAL_DATA);
	CHECK(record.file.ino == 2 && record.file.atime_ns == -6);
	CHECK(record.file.size == 5 && record.file.mtime_ns == 7);
	CHECK(strcmp(record.path, "a/b") == 0 && strcmp(record.text, "c") == 0);
	CHECK(journal_next(&reader, &record) == 0 && reader.at == len);
}

static void a_tail_that_is_cut_anywhere_is_ignored(void)
{
	size_t whole;
	int last;

	begin();
	add(JOURNAL_CREATE, "one", "");
	whole = len;
	add(JOURNAL_CREATE, "two", "");
	for (size_t size = whole; size < len; size++)
		CHECK(count(size, &last) == 1 && last == 0);
	CHECK(count(len, &last) == 2);
	CHECK(count(JOURNAL_HEAD_BYTES - 1, &last) == -1);
}

static void a_changed_byte_ends_it(void)
{
	size_t whole;
	int last;

	begin();
	add(JOURNAL_CREATE, "one", "");
	whole = len;
	add(JOURNAL_CREATE, "two", "");
	for (size_t at = whole; at < len; at++) {
		bytes[at] ^= 0x40;
		CHECK(count(len, &last) == 1 && last == 0);
		bytes[at] ^= 0x40;
	}
	bytes[9] ^= 1;
	CHECK(count(len, &last) == -1);
}

static void paths_that_lead_elsewhere_are_refused(void)
{
	static const char *const bad[] = { "..", "a/../b", "/a",  "a/", "a//b",
					   ".",  "./a",    "a/.", "" };
	int last;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin();
		add(JOURNAL_CREATE, bad[i], "");
		CHECK(count(len, &last) == 0 && last == -1);
		begin();
		add(JOURNAL_RENAME, "good", bad[i]);
		CHECK(count(len, &last) == 0 && last == -1);
	}
	CHECK(journal_path_is_good("...") && journal_path_is_good("a/..b/c."));
}

static void unknown_types_and_attributes_are_refused(void)
{
	struct journal_record record = { .type = JOURNAL_TYPES,
					 .path = "a",
					 .text = "" };
	struct journal_xattr one = { .name = "security.capability" };
	uint8_t xattrs[64];
	int last;

	begin();
	len += journal_encode(&record, bytes + len, sizeof(bytes) - len);
	CHECK(count(len, &last) == 0 && last == -1);
	begin();
	record.type = JOURNAL_CHANGE;
	record.file.mode = S_IFREG;
	record.xattrs = xattrs;
	record.xattrs_len = journal_xattr_add(xattrs, 0, sizeof(xattrs), &one);
	len += journal_encode(&record, bytes + len, sizeof(bytes) - len);
	CHECK(count(len, &last) == 0 && last == -1);
	begin();
	record.xattrs_len = 0;
	record.file.mode = S_IFCHR;
	len += journal_encode(&record, bytes + len, sizeof(bytes) - len);
	CHECK(count(len, &last) == 0 && last == -1);
}

static void a_record_that_does_not_fit_is_not_written(void)
{
	const struct journal_record record = { .type = JOURNAL_CREATE,
					       .path = "name",
					       .text = "" };

	CHECK(journal_encode(&record, bytes, 20) == 0);
	CHECK(journal_encode(&record, bytes, sizeof(bytes)) > 0);
}

static void labels_are_plain_words(void)
{
	CHECK(journal_label_is_good("run-20260102T030405.678Z"));
	CHECK(journal_label_is_good("iteration_3:a+b.c"));
	CHECK(!journal_label_is_good(""));
	CHECK(!journal_label_is_good("a b"));
	CHECK(!journal_label_is_good("a\n"));
	CHECK(!journal_label_is_good("../up"));
	CHECK(!journal_label_is_good("-f"));
	CHECK(!journal_label_is_good("\xc3\xa4"));
}

int main(void)
{
	RUN(a_record_comes_back_as_it_was);
	RUN(a_tail_that_is_cut_anywhere_is_ignored);
	RUN(a_changed_byte_ends_it);
	RUN(paths_that_lead_elsewhere_are_refused);
	RUN(unknown_types_and_attributes_are_refused);
	RUN(a_record_that_does_not_fit_is_not_written);
	RUN(labels_are_plain_words);
	return DONE();
}
