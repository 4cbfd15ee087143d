/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_client_hello.c - pieces of a hello decide as the whole does
 */
#include "wire/client_hello.h"

#include <string.h>

#include "lib/fuzz.h"

/* Asking at each `need` ends as asking once does. */
static void check_pieces(const uint8_t *data, size_t size,
			 enum client_hello_result whole)
{
	struct client_hello hello;
	size_t len = 0;

	for (;;) {
		enum client_hello_result result =
			client_hello_parse(data, len, &hello);

		if (result != CLIENT_HELLO_MORE) {
			FUZZ_CHECK(result == whole);
			return;
		}
		FUZZ_CHECK(hello.need > len);
		FUZZ_CHECK(hello.need <= CLIENT_HELLO_MAX);
		if (hello.need > size) {
			FUZZ_CHECK(whole == CLIENT_HELLO_MORE ||
				   whole == CLIENT_HELLO_BAD);
			return;
		}
		len = hello.need;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char again[HOSTNAME_MAX + 1];
	struct client_hello hello;
	enum client_hello_result result =
		client_hello_parse(data, size, &hello);

	FUZZ_CHECK((result == CLIENT_HELLO_BAD ||
		    result == CLIENT_HELLO_NOT_TLS) == !!hello.problem);
	if (result == CLIENT_HELLO_DONE) {
		FUZZ_CHECK(hello.len <= size && hello.len <= CLIENT_HELLO_MAX);
		if (hello.sni == CLIENT_HELLO_SNI_NAME)
			FUZZ_CHECK(hostname_canonical(hello.name,
						      strlen(hello.name),
						      again) > 0);
		else
			FUZZ_CHECK(hello.name[0] == '\0');
	}
	check_pieces(data, size, result);
	return 0;
}
