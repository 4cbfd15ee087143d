/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http1_response.c - what is accepted, written again, means the same
 *
 * The first byte says what was asked for, and whether the rest are trailers.
 */
#include "lib/http_same.h"
#include "lib/fuzz.h"

static void try_trailers(const uint8_t *data, size_t size)
{
	static struct http_fields fields, again;
	static char out[HTTP1_ENCODED_MAX];
	struct http_problem problem;
	int len;

	if (http1_trailers_parse(data, size, &fields, &problem) < 0)
		return;
	len = http1_last_chunk_encode(&fields, out, sizeof(out));
	FUZZ_CHECK(len > 3);
	if (len - 3 > HTTP1_TRAILERS_MAX)
		return;
	FUZZ_CHECK(http1_trailers_parse(out + 3, (size_t)len - 3, &again,
					&problem) == 0);
	FUZZ_CHECK(http_same_fields(&fields, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_response response;
	struct http_problem problem;
	enum http_method asked;

	if (size == 0)
		return 0;
	asked = (enum http_method)(data[0] & 3);
	if (asked > HTTP_METHOD_CONNECT) {
		try_trailers(data + 1, size - 1);
		return 0;
	}
	if (http1_response_parse(data + 1, size - 1, asked, &response,
				 &problem) < 0)
		FUZZ_CHECK(problem.status == 502 && problem.text);
	else
		FUZZ_CHECK(http_response_survives(&response, asked));
	return 0;
}
