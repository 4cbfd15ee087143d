/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http1_body.c - where bodies end, in pieces of every size
 */
#include "wire/http1_body.h"

#include "lib/tap.h"

static const struct http_body chunked = { .kind = HTTP_BODY_CHUNKED };

/* What came out of a body that was read to its end. */
static struct {
	enum http1_body_result result;
	char content[70000];
	size_t content_len;
	char trailers[9000];
	size_t trailers_len;
	size_t taken; /* of the whole input */
	const char *problem;
	int end;
} got;

/*
 * Reads the text in pieces of this size, in memory of exactly that size; what
 * is not taken is given again with the next piece.
 */
static void read_pieces(const struct http_body *framing, const char *text,
			size_t len, size_t size)
{
	struct http1_body body;
	size_t seen = 0;

	memset(&got, 0, sizeof(got));
	http1_body_init(&body, framing);
	for (;;) {
		struct http1_piece piece;
		size_t given = seen - got.taken;
		char *copy = malloc(given ? given : 1);

		memcpy(copy, text + got.taken, given);
		got.result = http1_body_read(&body, copy, given, &piece);
		CHECK(piece.taken <= given);
		CHECK(piece.content.len <= piece.taken);
		if (piece.content.len)
			memcpy(got.content + got.content_len,
			       piece.content.bytes, piece.content.len);
		got.content_len += piece.content.len;
		got.taken += piece.taken;
		got.problem = piece.problem;
		if (piece.trailers.len)
			memcpy(got.trailers, piece.trailers.bytes,
			       piece.trailers.len);
		got.trailers_len = piece.trailers.len;
		free(copy);
		if (got.result == HTTP1_BODY_CONTENT) {
			CHECK(piece.content.len > 0);
			continue;
		}
		if (got.result != HTTP1_BODY_MORE || seen == len)
			break;
		seen += len - seen < size ? len - seen : size;
	}
	CHECK(body.total == got.content_len);
	CHECK((got.result == HTTP1_BODY_BAD) == !!got.problem);
	got.end = http1_body_end(&body);
}

static void chunks_are_read_in_every_piece(void)
{
	static const char text[] = "5\r\nhello\r\n"
				   "00A;x=\"y\"\r\n0123456789\r\n"
				   "1\r\n!\r\n"
				   "0\r\nX: y\r\nZ:\r\n\r\nGET / HTTP/1.1\r\n";
	const size_t end = (size_t)(strstr(text, "GET") - text);

	for (size_t size = 1; size < sizeof(text); size++) {
		read_pieces(&chunked, text, sizeof(text) - 1, size);
		CHECK(got.result == HTTP1_BODY_DONE && got.end == 0);
		CHECK(got.content_len == 16);
		CHECK(!memcmp(got.content, "hello0123456789!", 16));
		CHECK(got.taken == end);
		CHECK(got.trailers_len == 12);
		CHECK(!memcmp(got.trailers, "X: y\r\nZ:\r\n\r\n", 12));
	}
}

static void a_cut_body_is_never_done(void)
{
	static const char text[] = "5\r\nhello\r\n00a;x\r\n0123456789\r\n"
				   "0\r\nX: y\r\n\r\n";

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		read_pieces(&chunked, text, len, len ? len : 1);
		CHECK(got.result == HTTP1_BODY_MORE && got.end == -1);
	}
	read_pieces(&chunked, text, sizeof(text) - 1, 1000);
	CHECK(got.result == HTTP1_BODY_DONE);
}

static void no_trailers_are_an_empty_line(void)
{
	read_pieces(&chunked, "0\r\n\r\n\r\n", 7, 1);
	CHECK(got.result == HTTP1_BODY_DONE && got.taken == 5);
	CHECK(got.trailers_len == 2);
	read_pieces(&chunked, "0000\r\n\r\n", 8, 8);
	CHECK(got.result == HTTP1_BODY_DONE && got.taken == 8);
}

static void malformed_chunks_are_refused(void)
{
	static const char *const cases[] = {
		"\r\n",
		"\n",
		" 5\r\nhello\r\n",
		"5 \r\nhello\r\n",
		"5\t\r\nhello\r\n",
		"5\nhello\n",
		"5\rhello",
		"5\r\rhello",
		"0x5\r\nhello\r\n",
		"+5\r\nhello\r\n",
		"-5\r\nhello\r\n",
		"g\r\n",
		"5_0\r\n",
		";x\r\n",
		"5;x\nhello\r\n",
		"5;\x01\r\nhello\r\n",
		"5;x\r\r\nhello\r\n",
		"5;\"a\nb\"\r\nhello\r\n",
		"5\r\nhelloX\r\n",
		"5\r\nhello\n",
		"5\r\nhello\r0\r\n\r\n",
		"5\r\nhello\r\r\n",
		"5\r\nhello0\r\n\r\n",
		"5\r\nhello\r\n\r\n0\r\n\r\n",
		"fffffffffffffffff\r\n",
		"ffffffffffffffff\r\n",
		"8000000000000000\r\n",
		"00000000000000005\r\n",
		"5\r\nhello\r\n0\n\r\n",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t size = 1; size <= strlen(cases[i]); size++) {
			read_pieces(&chunked, cases[i], strlen(cases[i]), size);
			if (got.result != HTTP1_BODY_BAD)
				printf("# %s\n", cases[i]);
			CHECK(got.result == HTTP1_BODY_BAD && got.end == -1);
		}
	}
	read_pieces(&chunked, "5\0\r\nhello", 10, 10);
	CHECK(got.result == HTTP1_BODY_BAD);
	read_pieces(&chunked, "5;\0\r\nhello", 11, 11);
	CHECK(got.result == HTTP1_BODY_BAD);
	read_pieces(&chunked, "7fffffffffffffff\r\nx", 19, 19);
	CHECK(got.result == HTTP1_BODY_MORE && got.content_len == 1);
}

static void a_malformed_body_stays_malformed(void)
{
	struct http1_piece piece;
	struct http1_body body;

	http1_body_init(&body, &chunked);
	CHECK(http1_body_read(&body, "x", 1, &piece) == HTTP1_BODY_BAD);
	CHECK(http1_body_read(&body, "0\r\n\r\n", 5, &piece) == HTTP1_BODY_BAD);
	CHECK(piece.taken == 0 && http1_body_end(&body) == -1);
}

static void extensions_and_trailers_are_bounded(void)
{
	static char text[3 * HTTP1_TRAILERS_MAX];
	int len;

	len = snprintf(text, sizeof(text), "1;%0*d\r\nx\r\n0\r\n\r\n",
		       HTTP1_CHUNK_EXTENSION_MAX, 0);
	read_pieces(&chunked, text, (size_t)len, 7);
	CHECK(got.result == HTTP1_BODY_DONE);
	len = snprintf(text, sizeof(text), "1;%0*d\r\nx\r\n0\r\n\r\n",
		       HTTP1_CHUNK_EXTENSION_MAX + 1, 0);
	read_pieces(&chunked, text, (size_t)len, 7);
	CHECK(got.result == HTTP1_BODY_BAD);
	/* "X: ", and two line ends */
	len = snprintf(text, sizeof(text), "0\r\nX: %0*d\r\n\r\n",
		       HTTP1_TRAILERS_MAX - 7, 0);
	read_pieces(&chunked, text, (size_t)len, 1000);
	CHECK(got.result == HTTP1_BODY_DONE);
	CHECK(got.trailers_len == HTTP1_TRAILERS_MAX);
	len = snprintf(text, sizeof(text), "0\r\nX: %0*d\r\n\r\n",
		       HTTP1_TRAILERS_MAX - 6, 0);
	for (size_t size = 1000; size < 20000; size += 1000) {
		read_pieces(&chunked, text, (size_t)len, size);
		CHECK(got.result == HTTP1_BODY_BAD);
	}
}

static void lengths_are_counted(void)
{
	static const struct http_body five = { HTTP_BODY_LENGTH, true, 5 };
	static const struct http_body none = { .kind = HTTP_BODY_NONE };
	static const struct http_body zero = { HTTP_BODY_LENGTH, true, 0 };

	for (size_t size = 1; size < 9; size++) {
		read_pieces(&five, "helloGET", 8, size);
		CHECK(got.result == HTTP1_BODY_DONE && got.end == 0);
		CHECK(got.content_len == 5 && got.taken == 5);
		read_pieces(&five, "hell", 4, size);
		CHECK(got.result == HTTP1_BODY_MORE && got.end == -1);
		CHECK(got.content_len == 4);
		read_pieces(&none, "GET", 3, size);
		CHECK(got.result == HTTP1_BODY_DONE && got.taken == 0);
		read_pieces(&zero, "GET", 3, size);
		CHECK(got.result == HTTP1_BODY_DONE && got.taken == 0);
	}
}

static void without_length_all_is_content(void)
{
	static const struct http_body open = { .kind = HTTP_BODY_UNTIL_CLOSE };

	read_pieces(&open, "", 0, 1);
	CHECK(got.result == HTTP1_BODY_MORE && got.end == 0);
	read_pieces(&open, "0\r\n\r\nx", 6, 2);
	CHECK(got.result == HTTP1_BODY_MORE && got.end == 0);
	CHECK(got.content_len == 6);
}

static void long_content_comes_as_it_is(void)
{
	static char text[66000];
	int len = snprintf(text, sizeof(text), "10000\r\n%065536d\r\n0\r\n\r\n",
			   7);

	read_pieces(&chunked, text, (size_t)len, 4096);
	CHECK(got.result == HTTP1_BODY_DONE && got.content_len == 65536);
	CHECK(!memcmp(got.content, text + 7, 65536));
}

int main(void)
{
	RUN(chunks_are_read_in_every_piece);
	RUN(a_cut_body_is_never_done);
	RUN(no_trailers_are_an_empty_line);
	RUN(malformed_chunks_are_refused);
	RUN(a_malformed_body_stays_malformed);
	RUN(extensions_and_trailers_are_bounded);
	RUN(lengths_are_counted);
	RUN(without_length_all_is_content);
	RUN(long_content_comes_as_it_is);
	return DONE();
}
