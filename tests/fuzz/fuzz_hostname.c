/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hostname.c - a canonical name stays as it is and is no address
 */
#include "wire/hostname.h"

#include <arpa/inet.h>
#include <string.h>

#include "wire/address.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HOSTNAME_MAX + 1], again[HOSTNAME_MAX + 1];
	int len = hostname_canonical((const char *)data, size, name);
	struct address address;
	struct in_addr ignored;

	if (len < 0)
		return 0;
	FUZZ_CHECK(len > 0 && strlen(name) == (size_t)len);
	FUZZ_CHECK(hostname_canonical(name, (size_t)len, again) == len);
	FUZZ_CHECK(!strcmp(name, again));
	FUZZ_CHECK(!inet_aton(name, &ignored));
	FUZZ_CHECK(address_parse(name, (size_t)len, &address) < 0);
	(void)hostname_is_special(name);
	return 0;
}
