/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_boot.c - what the boot reads: words, module names, numbers
 */
#include "guest/identity.h"
#include "guest/kernel_args.h"
#include "guest/modules.h"
#include "guest/rootfs.h"
#include "guest/slice.h"
#include "guest/stats.h"
#include "lib/tap.h"
#include "proto/messages.h"

static struct kernel_args parse(const char *text)
{
	return kernel_args_parse(text, strlen(text));
}

static void whole_words_of_the_command_line_count(void)
{
	CHECK(parse("console=ttyS0 bawn.prime quiet\n").prime);
	CHECK(parse("bawn.prime").prime);
	CHECK(!parse("bawn.primer xbawn.prime bawn.prime=1\n").prime);
	CHECK(!parse("").prime && !parse("\n").prime);
	CHECK(!parse("quiet\nbawn.prime").prime);
	CHECK(parse("a  bawn.debug ").debug);
}

static void modules_come_in_order(void)
{
	struct slice order = slice_of("virtio.ko\n# note\n\n  ring.ko\t\r\n"
				      "../evil.ko\n.hidden\nlast.ko");
	char name[MODULE_NAME_MAX], section[MODULE_SECTION_MAX] = "first";

	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "virtio.ko") && !strcmp(section, "first"));
	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "ring.ko"));
	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "last.ko") && !strcmp(section, "first"));
	CHECK(!modules_next(&order, section, name));
	order = slice_of("[boot]\na.ko\n [gate] \n[]\nb.ko\n[longer than any "
			 "section]\nc.ko\n");
	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "a.ko") && !strcmp(section, "boot"));
	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "b.ko") && !strcmp(section, "gate"));
	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "c.ko"));
}

static void a_module_name_that_is_too_long_is_passed_over(void)
{
	char text[400];
	struct slice order = { text, 0 };
	char name[MODULE_NAME_MAX], section[MODULE_SECTION_MAX] = "";

	order.len = (size_t)snprintf(text, sizeof(text), "%0300d\nb.ko\n", 1);
	REQUIRE(modules_next(&order, section, name));
	CHECK(!strcmp(name, "b.ko"));
}

static void a_superblock_says_how_large_it_is(void)
{
	uint8_t bytes[ROOTFS_SUPERBLOCK_BYTES] = { 0 };
	struct rootfs_size size;

	CHECK(rootfs_parse_superblock(bytes, &size) == -1);
	bytes[0x38] = 0x53;
	bytes[0x39] = 0xef;
	CHECK(rootfs_parse_superblock(bytes, &size) == -1);
	bytes[0x6] = 0x1; /* 65536 blocks */
	bytes[0x18] = 2;  /* of 4096 bytes */
	REQUIRE(rootfs_parse_superblock(bytes, &size) == 0);
	CHECK(size.blocks == 65536 && size.block_bytes == 4096);
	bytes[0x150] = 2; /* counts only with the 64-bit feature */
	REQUIRE(rootfs_parse_superblock(bytes, &size) == 0);
	CHECK(size.blocks == 65536);
	bytes[0x60] = 0x80;
	REQUIRE(rootfs_parse_superblock(bytes, &size) == 0);
	CHECK(size.blocks == (2ull << 32) + 65536);
	bytes[0x18] = 40;
	CHECK(rootfs_parse_superblock(bytes, &size) == -1);
}

static void a_hostname_is_checked(void)
{
	CHECK(identity_check_hostname("my-box_1.local") == 0);
	CHECK(identity_check_hostname("") == -1);
	CHECK(identity_check_hostname("a b") == -1);
	CHECK(identity_check_hostname("a\n127.0.0.1 x") == -1);
	CHECK(identity_check_hostname("0123456789012345678901234567890123456789"
				      "0123456789012345678901234") == -1);
}

static void memory_is_read_from_meminfo(void)
{
	struct message_stats stats = { 0 };

	stats_parse_meminfo(slice_of("MemTotal:        2000 kB\n"
				     "MemFree:  7 kB\nbroken\nX: y\n"
				     "MemAvailable:    1000 kB\n"),
			    &stats);
	CHECK(stats.memory_total_bytes == 2000 * 1024);
	CHECK(stats.memory_available_bytes == 1000 * 1024);
	stats_parse_meminfo(slice_of("MemTotal: 99999999999999999999 kB"),
			    &stats);
	CHECK(stats.memory_total_bytes == 2000 * 1024);
}

static void idle_time_is_not_busy_time(void)
{
	struct message_stats stats = { 0 };

	stats_parse_cpu(slice_of("cpu  1 2 3 1000 1000 4 5 6 7 8\ncpu0 9\n"),
			&stats);
	CHECK(stats.cpu_busy_ms == 210);
	stats.cpu_busy_ms = 5;
	stats_parse_cpu(slice_of("intr 1\n"), &stats);
	stats_parse_cpu(slice_of("cpu  1 x\n"), &stats);
	stats_parse_cpu(slice_of(""), &stats);
	CHECK(stats.cpu_busy_ms == 5);
}

static void numbers_have_a_limit(void)
{
	uint64_t n = 0;

	CHECK(!slice_number(slice_of("255"), 255, &n) && n == 255);
	CHECK(slice_number(slice_of("256"), 255, &n));
	CHECK(slice_number(slice_of(""), 255, &n));
	CHECK(slice_number(slice_of("1 "), 255, &n));
	CHECK(slice_number(slice_of("-1"), 255, &n));
	CHECK(slice_number(slice_of("7"), 5, &n));
	CHECK(!slice_number(slice_of("18446744073709551615"), UINT64_MAX, &n));
	CHECK(slice_number(slice_of("18446744073709551616"), UINT64_MAX, &n));
}

static void cutting_gives_every_part_once(void)
{
	struct slice rest = slice_of("a::b:"), part;

	REQUIRE(slice_cut(&rest, ':', &part) && slice_equals(part, "a"));
	REQUIRE(slice_cut(&rest, ':', &part) && slice_equals(part, ""));
	REQUIRE(slice_cut(&rest, ':', &part) && slice_equals(part, "b"));
	REQUIRE(slice_cut(&rest, ':', &part) && slice_equals(part, ""));
	CHECK(!slice_cut(&rest, ':', &part));
}

static void a_nul_is_not_copied(void)
{
	char out[8];

	CHECK(slice_copy((struct slice){ "a\0b", 3 }, out, sizeof(out)) == -1);
	CHECK(slice_copy(slice_of("1234567"), out, sizeof(out)) == 0);
	CHECK(slice_copy(slice_of("12345678"), out, sizeof(out)) == -1);
	CHECK(out[0] == '\0');
}

int main(void)
{
	RUN(whole_words_of_the_command_line_count);
	RUN(modules_come_in_order);
	RUN(a_module_name_that_is_too_long_is_passed_over);
	RUN(a_superblock_says_how_large_it_is);
	RUN(a_hostname_is_checked);
	RUN(memory_is_read_from_meminfo);
	RUN(idle_time_is_not_busy_time);
	RUN(numbers_have_a_limit);
	RUN(cutting_gives_every_part_once);
	RUN(a_nul_is_not_copied);
	return DONE();
}
