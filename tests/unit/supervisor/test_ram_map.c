/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ram_map.c - where a guest's memory lies
 */
#include "supervisor/ram_map.h"

#include <string.h>

#include "base/error.h"
#include "lib/tap.h"

#define LIB "7f0000000000-7f0000003000 r--p 00000000 08:01 9  /lib/x.so\n"
#define WHOLE "7f1000000000-7f1000003000 rw-p 00000000 00:2a 1234  /bawn/ram\n"

static int parse(const char *text, struct ram_map *map)
{
	struct error err = { 0 };

	return ram_map_parse(text, strlen(text), 0x3000, map, &err);
}

static void one_piece_is_found_among_others(void)
{
	struct ram_map map;

	CHECK(parse(LIB WHOLE "7fff0000-7fff3000 rw-p 00000000 00:00 0  [x]\n",
		    &map) == 0);
	CHECK(map.count == 1);
	CHECK(map.parts[0].address == 0x7f1000000000 &&
	      map.parts[0].offset == 0 && map.parts[0].len == 0x3000);
}

static void pieces_are_joined_when_there_is_no_gap(void)
{
	struct ram_map map;

	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "2000-4000 rw-p 00001000 00:2a 5 /r\n",
		    &map) == 0);
	CHECK(map.count == 2 && map.parts[1].offset == 0x1000);
	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "2000-4000 rw-p 00001000 00:2a 6 /r\n",
		    &map) == -1);
	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "3000-4000 rw-p 00002000 00:2a 5 /r\n",
		    &map) == -1);
}

static void shared_anonymous_and_read_only_ones_are_not_it(void)
{
	struct ram_map map;

	CHECK(parse("1000-4000 rw-s 00000000 00:2a 5 /r\n", &map) == -1);
	CHECK(parse("1000-4000 rw-p 00000000 00:00 0 \n", &map) == -1);
	CHECK(parse("1000-4000 r--p 00000000 00:2a 5 /r\n", &map) == -1);
	CHECK(parse("1000-4000 rw-p 00001000 00:2a 5 /r\n", &map) == -1);
}

static void a_cut_list_is_never_believed(void)
{
	struct ram_map map;
	struct error err = { 0 };

	for (size_t i = 0; i < strlen(LIB WHOLE); i++)
		CHECK(ram_map_parse(LIB WHOLE, i, 0x3000, &map, &err) == -1);
	CHECK(parse("zz\n-\n1-\n1000-4000\n1000-4000 rw\n"
		    "ffffffffffffffffff-1 rw-p 0 0:0 1 x\n",
		    &map) == -1);
}

int main(void)
{
	RUN(one_piece_is_found_among_others);
	RUN(pieces_are_joined_when_there_is_no_gap);
	RUN(shared_anonymous_and_read_only_ones_are_not_it);
	RUN(a_cut_list_is_never_believed);
	return DONE();
}
