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

#define BYTES 0x3000

/* 0: not found. */
static uint64_t parse(const char *text)
{
	struct error err = { 0 };
	uint64_t address;

	return ram_map_parse(text, strlen(text), BYTES, &address, &err) == 0
		       ? address
		       : 0;
}

static void one_piece_is_found_among_others(void)
{
	CHECK(parse(LIB WHOLE
		    "7fff0000-7fff3000 rw-p 00000000 00:00 0  [x]\n") ==
	      0x7f1000000000);
}

static void pieces_are_joined_when_there_is_no_gap(void)
{
	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "2000-4000 rw-p 00001000 00:2a 5 /r\n") == 0x1000);
	CHECK(!parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		     "2000-4000 rw-p 00001000 00:2a 6 /r\n"));
	CHECK(!parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		     "2000-4000 rw-p 00002000 00:2a 5 /r\n"));
	CHECK(!parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		     "3000-4000 rw-p 00002000 00:2a 5 /r\n"));
}

static void holes_are_anonymous(void)
{
	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "2000-3000 rw-p 00000000 00:00 0 \n"
		    "3000-4000 rw-p 00002000 00:2a 5 /r\n") == 0x1000);
	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "2000-4000 rw-p 00000000 00:00 0 \n") == 0x1000);
	/* with memory of somebody else's behind it */
	CHECK(parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		    "2000-9000 rw-p 00000000 00:00 0 \n") == 0x1000);
	/* but not before it, nor when it is too short */
	CHECK(!parse("1000-2000 rw-p 00000000 00:00 0 \n"
		     "2000-4000 rw-p 00001000 00:2a 5 /r\n"));
	CHECK(!parse("1000-2000 rw-p 00000000 00:2a 5 /r\n"
		     "2000-3000 rw-p 00000000 00:00 0 \n"
		     "3000-4000 ---p 00000000 00:00 0 \n"));
	CHECK(!parse("1000-5000 rw-p 00000000 00:2a 5 /r\n"
		     "5000-6000 rw-p 00000000 00:00 0 \n"));
}

static void shared_anonymous_and_read_only_ones_are_not_it(void)
{
	CHECK(!parse("1000-4000 rw-s 00000000 00:2a 5 /r\n"));
	CHECK(!parse("1000-4000 rw-p 00000000 00:00 0 \n"));
	CHECK(!parse("1000-4000 r--p 00000000 00:2a 5 /r\n"));
	CHECK(!parse("1000-4000 rw-p 00001000 00:2a 5 /r\n"));
}

static void a_cut_list_is_never_believed(void)
{
	struct error err = { 0 };
	uint64_t address;

	for (size_t i = 0; i < strlen(LIB WHOLE); i++)
		CHECK(ram_map_parse(LIB WHOLE, i, BYTES, &address, &err) == -1);
	CHECK(!parse("zz\n-\n1-\n1000-4000\n1000-4000 rw\n"
		     "ffffffffffffffffff-1 rw-p 0 0:0 1 x\n"));
}

int main(void)
{
	RUN(one_piece_is_found_among_others);
	RUN(pieces_are_joined_when_there_is_no_gap);
	RUN(holes_are_anonymous);
	RUN(shared_anonymous_and_read_only_ones_are_not_it);
	RUN(a_cut_list_is_never_believed);
	return DONE();
}
