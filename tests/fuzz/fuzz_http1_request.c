/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http1_request.c - what is accepted, written again, means the same
 */
#include "lib/http_same.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request request;
	struct http_problem problem;
	size_t scanned = 0;
	int len = http1_head_length(data, size, &scanned, &problem);

	FUZZ_CHECK(len <= (int)size && scanned <= size);
	if (http1_request_parse(data, size, &request, &problem) < 0) {
		FUZZ_CHECK(problem.status >= 400 && problem.text);
	} else {
		/* What parses as a head is a head, all of it. */
		FUZZ_CHECK(len == (int)size);
		FUZZ_CHECK(request.has_authority || request.minor == 0);
		FUZZ_CHECK(!request.has_authority ||
			   http_request_survives(&request));
	}
	if (len > 0)
		(void)http1_request_parse(data, (size_t)len, &request,
					  &problem);
	return 0;
}
