/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tar_read.c - archives that somebody hostile wrote
 */
#include "tar/tar_read.h"

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "lib/tap.h"
#include "tar/tar_header.h"
#include "tar/tar_write.h"

static char last_path[TAR_PATH_MAX];
static int entries;

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	entries++;
	text_copy(last_path, sizeof(last_path), entry->path);
	return 0;
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	return 0;
}

static struct error why;

static int read_all(const void *bytes, size_t len, struct tar_limits limits)
{
	struct tar_events events = { on_entry, on_data, on_end, NULL };
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	int result;

	entries = 0;
	why = (struct error){ 0 };
	result = tar_reader_feed(reader, bytes, len, &why);
	if (result == 0)
		result = tar_reader_finish(reader, &why);
	tar_reader_free(reader);
	return result;
}

static int read_buffer(const struct buffer *archive)
{
	return read_all(archive->data, archive->len,
			(struct tar_limits){ 100, 1u << 20 });
}

static void add_header(struct buffer *out, char type, const char *name,
		       const char *target, const char *content)
{
	struct tar_header header = { .type = type };
	static const char zeroes[TAR_BLOCK];

	text_copy(header.name, sizeof(header.name), name);
	text_copy(header.target, sizeof(header.target), target);
	memcpy(header.magic, "ustar\00000", 8);
	tar_header_put(header.mode, 8, 0644);
	tar_header_put(header.size, 12, strlen(content));
	tar_header_put(header.checksum, 8, tar_header_sum(&header));
	buffer_append(out, &header, sizeof(header));
	buffer_append(out, content, strlen(content));
	buffer_append(out, zeroes, tar_padding(strlen(content)));
}

/* The archive of one such header; 0 when it is taken. */
static int one(char type, const char *name, const char *target,
	       const char *content)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	add_header(&out, type, name, target, content);
	tar_write_end(&out);
	return read_buffer(&out);
}

/* A file behind a pax header with these records. */
static int with_pax(char type, const char *records)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	add_header(&out, type, "pax", "", records);
	add_header(&out, '0', "file", "", "");
	tar_write_end(&out);
	return read_buffer(&out);
}

static void names_that_lead_out_are_refused(void)
{
	CHECK(one('0', "../x", "", "") < 0);
	CHECK(one('0', "a/../../x", "", "") < 0);
	CHECK(one('0', "/etc/passwd", "", "") < 0);
	CHECK(strstr(why.text, "absolute"));
	CHECK(one('0', "", "", "") < 0);
	CHECK(one('1', "x", "../y", "") < 0);
	CHECK(one('1', "x", "/etc/passwd", "") < 0);
	CHECK(one('0', "a/./b//c", "", "") == 0);
	CHECK(!strcmp(last_path, "a/b/c"));
}

static void names_in_messages_are_fit_for_a_terminal(void)
{
	CHECK(one('0', "/\033]0;x\007", "", "") < 0);
	CHECK(!strchr(why.text, '\033') && strstr(why.text, "\\x1b"));
}

static void odd_types_are_refused(void)
{
	CHECK(one('S', "sparse", "", "") < 0);
	CHECK(one('V', "volume", "", "") < 0);
	CHECK(one('M', "multi", "", "") < 0);
	CHECK(one('D', "dump", "", "") < 0);
	CHECK(one('\x1b', "x", "", "") < 0);
}

static void only_files_have_content(void)
{
	CHECK(one('5', "folder", "", "x") < 0);
	CHECK(one('2', "link", "target", "x") < 0);
	CHECK(one('1', "link", "target", "x") < 0);
	CHECK(one('0', "file", "", "x") == 0);
	CHECK(one('\0', "folder/", "", "") == 0);
}

static void links_without_a_target_are_refused(void)
{
	CHECK(one('2', "link", "", "") < 0);
	CHECK(one('1', "link", "", "") < 0);
}

static void a_wrong_checksum_is_refused(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	add_header(&out, '0', "file", "", "");
	tar_write_end(&out);
	CHECK(read_buffer(&out) == 0);
	out.data[0] ^= 1;
	CHECK(read_buffer(&out) < 0);
}

static void bad_numbers_are_refused(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);
	struct tar_header *header;

	add_header(&out, '0', "file", "", "");
	tar_write_end(&out);
	header = (struct tar_header *)(void *)out.data;
	memcpy(header->size, "-1         ", 12);
	tar_header_put(header->checksum, 8, tar_header_sum(header));
	CHECK(read_buffer(&out) < 0);
	memset(header->size, 0xff, 12);
	tar_header_put(header->checksum, 8, tar_header_sum(header));
	CHECK(read_buffer(&out) < 0);
}

static void pax_records_are_parsed_strictly(void)
{
	CHECK(with_pax('x', "12 path=new\n") == 0);
	CHECK(!strcmp(last_path, "new"));
	CHECK(with_pax('x', "13 path=new\n") < 0);
	CHECK(with_pax('x', "11 path=new\n") < 0);
	CHECK(with_pax('x', "path=new\n") < 0);
	CHECK(with_pax('x', "99999999999999999999 path=new\n") < 0);
	CHECK(with_pax('x', "8 path\n\n") < 0);
	CHECK(with_pax('x', "5 =x\n") < 0);
	CHECK(with_pax('x', "13 path=../x\n") < 0);
	CHECK(with_pax('x', "11 size=-1\n") < 0);
	CHECK(with_pax('x', "11 mtime=x\n") < 0);
	CHECK(with_pax('x', "15 comment=yes\n") == 0);
	CHECK(with_pax('x', "22 GNU.sparse.major=1\n") < 0);
}

static void a_size_in_pax_counts(void)
{
	/* the entry claims content that does not follow */
	CHECK(with_pax('x', "12 size=512\n") < 0);
	CHECK(strstr(why.text, "cut off"));
	CHECK(with_pax('x', "28 size=9223372036854775807\n") < 0);
}

static void a_global_header_may_not_change_entries(void)
{
	CHECK(with_pax('g', "15 comment=yes\n") == 0);
	CHECK(with_pax('g', "12 path=new\n") < 0);
	CHECK(with_pax('g', "10 size=5\n") < 0);
}

static void two_headers_of_one_kind_are_refused(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	add_header(&out, 'x', "pax", "", "12 path=new\n");
	add_header(&out, 'x', "pax", "", "12 path=new\n");
	add_header(&out, '0', "file", "", "");
	tar_write_end(&out);
	CHECK(read_buffer(&out) < 0);
}

static void long_names_of_gnu_are_understood(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	add_header(&out, 'L', "././@LongLink", "", "some/long/name");
	add_header(&out, 'K', "././@LongLink", "", "a/target");
	add_header(&out, '1', "short", "short", "");
	tar_write_end(&out);
	CHECK(read_buffer(&out) == 0);
	CHECK(!strcmp(last_path, "some/long/name"));
}

static void limits_are_kept(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	for (int i = 0; i < 3; i++)
		add_header(&out, '0', "file", "", "x");
	tar_write_end(&out);
	CHECK(read_all(out.data, out.len, (struct tar_limits){ 3, out.len }) ==
	      0);
	CHECK(read_all(out.data, out.len, (struct tar_limits){ 2, out.len }) <
	      0);
	CHECK(read_all(out.data, out.len,
		       (struct tar_limits){ 3, out.len - 1 }) < 0);
}

static void every_truncation_is_an_error(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);

	add_header(&out, 'x', "pax", "", "12 path=new\n");
	add_header(&out, '0', "file", "", "content");
	tar_write_end(&out);
	for (size_t len = 0; len < out.len; len++)
		CHECK(read_all(out.data, len,
			       (struct tar_limits){ 10, 1u << 20 }) < 0);
	CHECK(read_buffer(&out) == 0 && entries == 1);
	/* tar fills the last record of ten kilobytes with zeroes or with what
	 * was there */
	buffer_append(&out, "junk", 4);
	CHECK(read_buffer(&out) == 0);
}

static void a_header_after_one_block_of_zeroes_is_refused(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);
	static const char zeroes[TAR_BLOCK];

	buffer_append(&out, zeroes, sizeof(zeroes));
	add_header(&out, '0', "file", "", "");
	tar_write_end(&out);
	CHECK(read_buffer(&out) < 0);
}

int main(void)
{
	RUN(names_that_lead_out_are_refused);
	RUN(names_in_messages_are_fit_for_a_terminal);
	RUN(odd_types_are_refused);
	RUN(only_files_have_content);
	RUN(links_without_a_target_are_refused);
	RUN(a_wrong_checksum_is_refused);
	RUN(bad_numbers_are_refused);
	RUN(pax_records_are_parsed_strictly);
	RUN(a_size_in_pax_counts);
	RUN(a_global_header_may_not_change_entries);
	RUN(two_headers_of_one_kind_are_refused);
	RUN(long_names_of_gnu_are_understood);
	RUN(limits_are_kept);
	RUN(every_truncation_is_an_error);
	RUN(a_header_after_one_block_of_zeroes_is_refused);
	return DONE();
}
