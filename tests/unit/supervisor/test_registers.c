/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registers.c - what QEMU says of a CPU
 */
#include "supervisor/registers.h"

#include <string.h>

#include "lib/tap.h"

static const char long_mode[] =
	"\r\nCPU#0\r\n"
	"RAX=0000000000000000 RBX=ffffffff82a10940 RCX=0000000000000001\r\n"
	"RIP=ffffffff81e2b0cf RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 "
	"HLT=1\r\nES =0000 0000000000000000 ffffffff 00c00000\r\n";

static int parse(const char *text, struct registers *registers)
{
	return registers_parse(text, strlen(text), registers);
}

static void a_cpu_in_any_mode_is_read(void)
{
	struct registers r;

	CHECK(!parse(long_mode, &r));
	CHECK(r.ip == 0xffffffff81e2b0cf && r.cpl == 0 && r.halted);
	CHECK(!parse("EIP=0000fff0 EFL=00000002 [-------] CPL=3 HLT=0", &r));
	CHECK(r.ip == 0xfff0 && r.cpl == 3 && !r.halted);
}

static void what_lacks_something_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"RIP=",
		"RIP= CPL=0 HLT=0",
		"RIP=x CPL=0 HLT=0",
		"RIP=10 CPL=4 HLT=0",
		"RIP=10 CPL=0 HLT=2",
		"RIP=10 CPL=0",
		"RIP=10 HLT=1",
		"CPL=0 HLT=1",
	};
	struct registers r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(parse(bad[i], &r) == -1);
	for (size_t len = 0; len < strlen(long_mode); len++) {
		int result = registers_parse(long_mode, len, &r);

		CHECK((result == 0) ==
		      (memmem(long_mode, len, "HLT=1", 5) != NULL));
	}
}

static void longer_numbers_end_where_they_must(void)
{
	struct registers r;

	CHECK(!parse("RIP=11112222333344445555 CPL=0 HLT=1", &r));
	CHECK(r.ip == 0x1111222233334444);
	CHECK(!registers_parse("RIP=1\0 CPL=1 HLT=1", 19, &r) && r.ip == 1);
}

int main(void)
{
	RUN(a_cpu_in_any_mode_is_read);
	RUN(what_lacks_something_is_refused);
	RUN(longer_numbers_end_where_they_must);
	return DONE();
}
