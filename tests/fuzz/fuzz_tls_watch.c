/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tls_watch.c - what passes does not depend on how it is cut
 *
 * The first byte is the size of the pieces. Hellos are let through.
 */
#include "wire/tls_watch.h"

#include "wire/client_hello.h"
#include "lib/fuzz.h"

struct seen {
	enum tls_watch_result result;
	size_t passed, hellos;
};

static struct seen read_pieces(const uint8_t *data, size_t size, size_t step)
{
	struct seen seen = { 0 };
	struct tls_watch watch;
	size_t given = 0, pass;

	tls_watch_init(&watch);
	for (;;) {
		seen.result = tls_watch_read(&watch, data + seen.passed,
					     given - seen.passed, &pass);
		FUZZ_CHECK(pass <= given - seen.passed);
		seen.passed += pass;
		if (seen.result == TLS_WATCH_HELLO) {
			struct client_hello hello;

			if (client_hello_parse(data + seen.passed,
					       size - seen.passed,
					       &hello) != CLIENT_HELLO_DONE)
				return seen;
			seen.hellos++;
			tls_watch_allow(&watch, hello.len);
			continue;
		}
		if (seen.result == TLS_WATCH_BAD || given == size)
			return seen;
		given += size - given < step ? size - given : step;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, pieces;

	if (size < 1)
		return 0;
	whole = read_pieces(data + 1, size - 1, size);
	pieces = read_pieces(data + 1, size - 1, (size_t)data[0] + 1);
	FUZZ_CHECK(whole.result == pieces.result);
	FUZZ_CHECK(whole.passed == pieces.passed);
	FUZZ_CHECK(whole.hellos == pieces.hellos);
	return 0;
}
