/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_java_store.c - a bundle, and a list that somebody made
 *
 * Input: the bundle, a NUL, the list.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/java_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pem[] = "-----BEGIN CERTIFICATE-----\n"
			  "b3Vycw==\n-----END CERTIFICATE-----\n";

static void add(const void *list, size_t len, bool must)
{
	AUTO_BUFFER struct buffer once = BUFFER_INIT(JAVA_STORE_BYTES_MAX);
	AUTO_BUFFER struct buffer twice = BUFFER_INIT(JAVA_STORE_BYTES_MAX);

	(void)java_store_has(list, len, pem, strlen(pem));
	if (java_store_add(list, len, pem, strlen(pem), &once) < 0) {
		if (must)
			abort();
		return;
	}
	if (!java_store_has(once.data, once.len, pem, strlen(pem)) ||
	    java_store_add(once.data, once.len, pem, strlen(pem), &twice) < 0 ||
	    once.len != twice.len ||
	    memcmp(once.data, twice.data, once.len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(JAVA_STORE_BYTES_MAX);
	const uint8_t *middle = size ? memchr(data, '\0', size) : NULL;
	size_t len = middle ? (size_t)(middle - data) : size;
	struct java_store store;

	if (java_store_begin(size ? (const char *)data : "", len, &list,
			     &store) == 0 &&
	    java_store_end(&store, pem, strlen(pem), &list) == 0)
		add(list.data, list.len, true);
	if (middle)
		add(middle + 1, size - len - 1, false);
	return 0;
}
