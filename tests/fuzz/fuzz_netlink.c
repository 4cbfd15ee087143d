/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_netlink.c - the kernel's answers, whatever they are
 */
#include "guest/netlink.h"

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned count = 0;

	FUZZ_CHECK(netlink_answers(data, size, &count) >= -1);
	FUZZ_CHECK(count <= size / 16);
	return 0;
}
