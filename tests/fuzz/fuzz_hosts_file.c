/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hosts_file.c - names that come out are canonical, and not too many
 */
#include "launch/hosts_file.h"

#include <string.h>

#include "lib/fuzz.h"
#include "wire/hostname.h"

#define MOST 100

static void check(void *ctx, const char *name, const struct address *address)
{
	char again[HOSTNAME_MAX + 1];

	++*(size_t *)ctx;
	FUZZ_CHECK(hostname_canonical(name, strlen(name), again) > 0);
	FUZZ_CHECK(!strcmp(name, again));
	FUZZ_CHECK(address->family == ADDRESS_V4 ||
		   address->family == ADDRESS_V6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t calls = 0;

	FUZZ_CHECK(hosts_file_parse(data, size, MOST, check, &calls) == calls);
	FUZZ_CHECK(calls <= MOST);
	return 0;
}
