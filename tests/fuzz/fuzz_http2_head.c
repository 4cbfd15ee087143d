/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http2_head.c - any header block, as request, response and trailers
 *
 * The first byte: bit 0 a response, bit 1 no body follows, bit 2 HEAD. Then
 * fields: length of the name, two of the value, and both. What is accepted
 * survives being written as HTTP/2 and, of a request, as HTTP/1.
 */
#include <stdlib.h>

#include "lib/fuzz.h"
#include "lib/http_same.h"
#include "wire/http2_head.h"

#define IS_RESPONSE 1
#define ENDS 2
#define IS_HEAD 4

static void read_block(const uint8_t *data, size_t size,
		       struct http2_block *block)
{
	while (size >= 3) {
		size_t name = data[0], value = data[1] | (size_t)data[2] << 8;
		const char *text = (const char *)data + 3;

		size -= 3;
		name = name < size ? name : size;
		value = value < size - name ? value : size - name;
		(void)http2_block_add(block, span_over(text, name),
				      span_over(text + name, value));
		data += 3 + name + value;
		size -= name + value;
	}
	http2_block_join_cookies(block);
}

static void check_request(const struct http2_block *block, bool ends)
{
	struct http_request *request = malloc(sizeof(*request));
	struct http_request *again = malloc(sizeof(*again));
	struct http_problem problem;
	struct http2_block copy;

	http2_block_init(&copy);
	if (http2_request_parse(block, ends, request, &problem) == 0) {
		FUZZ_CHECK(http_request_survives(request));
		FUZZ_CHECK(http2_request_encode(request, &copy) == 0 ||
			   copy.too_large);
		if (!copy.too_large)
			FUZZ_CHECK(http2_request_parse(&copy, ends, again,
						       &problem) == 0 &&
				   http_same_request(request, again));
	} else {
		FUZZ_CHECK(problem.status >= 400 && problem.text);
	}
	http2_block_release(&copy);
	free(again);
	free(request);
}

static void check_response(const struct http2_block *block,
			   enum http_method asked, bool ends)
{
	struct http_response *response = malloc(sizeof(*response));
	struct http_response *again = malloc(sizeof(*again));
	struct http_problem problem;
	struct http2_block copy;

	http2_block_init(&copy);
	if (http2_response_parse(block, asked, ends, response, &problem) == 0) {
		FUZZ_CHECK(response->status >= 100 && response->status != 101);
		FUZZ_CHECK(http2_response_encode(response, &copy) == 0 ||
			   copy.too_large);
		if (!copy.too_large)
			FUZZ_CHECK(http2_response_parse(&copy, asked, ends,
							again, &problem) == 0 &&
				   http_same_response(response, again));
	} else {
		FUZZ_CHECK(problem.status == 502 && problem.text);
	}
	http2_block_release(&copy);
	free(again);
	free(response);
}

static void check_trailers(const struct http2_block *block)
{
	struct http_fields *fields = malloc(sizeof(*fields));
	struct http_problem problem;

	if (http2_trailers_parse(block, fields, &problem) == 0) {
		FUZZ_CHECK(!http_fields_find(fields, "content-length", NULL));
		FUZZ_CHECK(!http_fields_find(fields, "host", NULL));
	}
	free(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http2_block block;
	bool ends;

	if (size < 1)
		return 0;
	ends = data[0] & ENDS;
	http2_block_init(&block);
	read_block(data + 1, size - 1, &block);
	if (data[0] & IS_RESPONSE)
		check_response(&block,
			       data[0] & IS_HEAD ? HTTP_METHOD_HEAD
						 : HTTP_METHOD_OTHER,
			       ends);
	else
		check_request(&block, ends);
	check_trailers(&block);
	http2_block_release(&block);
	return 0;
}
