/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http1_body.c - a body ends at the same byte however it is cut
 *
 * The first byte is the size of the pieces, the rest a chunked body.
 */
#include "wire/http1_body.h"

#include <string.h>

#include "lib/fuzz.h"

struct seen {
	enum http1_body_result result;
	size_t taken;
	uint64_t content, sum; /* length and a sum over the bytes */
	size_t trailers;
};

static void add_content(struct seen *seen, struct span content)
{
	seen->content += content.len;
	for (size_t i = 0; i < content.len; i++)
		seen->sum = seen->sum * 31 + (uint8_t)content.bytes[i];
}

static struct seen read_pieces(const uint8_t *data, size_t size, size_t step)
{
	static const struct http_body chunked = { .kind = HTTP_BODY_CHUNKED };
	struct seen seen = { 0 };
	struct http1_piece piece;
	struct http1_body body;
	size_t given = 0;

	http1_body_init(&body, &chunked);
	for (;;) {
		seen.result = http1_body_read(&body, data + seen.taken,
					      given - seen.taken, &piece);
		FUZZ_CHECK(piece.taken <= given - seen.taken);
		add_content(&seen, piece.content);
		seen.taken += piece.taken;
		seen.trailers = piece.trailers.len;
		if (seen.result == HTTP1_BODY_CONTENT)
			continue;
		if (seen.result != HTTP1_BODY_MORE || given == size)
			break;
		given += size - given < step ? size - given : step;
	}
	FUZZ_CHECK(body.total == seen.content);
	FUZZ_CHECK((http1_body_end(&body) == 0) ==
		   (seen.result == HTTP1_BODY_DONE));
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, pieces;

	if (size < 1)
		return 0;
	whole = read_pieces(data + 1, size - 1, size);
	pieces = read_pieces(data + 1, size - 1, (size_t)data[0] + 1);
	FUZZ_CHECK(whole.result == pieces.result);
	FUZZ_CHECK(whole.content == pieces.content && whole.sum == pieces.sum);
	/* Trailers that are too long may be told before their end. */
	if (whole.result != HTTP1_BODY_BAD) {
		FUZZ_CHECK(whole.taken == pieces.taken);
		FUZZ_CHECK(whole.trailers == pieces.trailers);
	}
	return 0;
}
