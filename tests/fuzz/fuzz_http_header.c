/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http_header.c - lines before a registry's answer
 */
#include <string.h>

#include "image/http.h"
#include "image/http_header.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_response response = { .status = 0 };

	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) + 1 : size;

		http_header_take((const char *)data, len, &response);
		data += len;
		size -= len;
	}
	FUZZ_CHECK(strlen(response.location) < sizeof(response.location));
	FUZZ_CHECK(!response.digest[0] ||
		   digest_name_is_valid(response.digest));
	return 0;
}
