/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http1_response.c - response heads and trailers
 */
#include "wire/http1_head.h"

#include "lib/tap.h"

static struct http_response response;
static struct http_problem problem;

static int parse(const char *text, enum http_method asked)
{
	problem = (struct http_problem){ 0 };
	return http1_response_parse(text, strlen(text), asked, &response,
				    &problem);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void a_response_is_read(void)
{
	CHECK(parse("HTTP/1.1 404 Not Found at all\r\n"
		    "Content-Type: text/plain\r\nContent-Length: 12\r\n"
		    "Set-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
		    HTTP_METHOD_OTHER) == 0);
	CHECK(response.status == 404);
	CHECK(span_is(response.reason, "Not Found at all"));
	CHECK(response.fields.count == 3);
	CHECK(response.body.kind == HTTP_BODY_LENGTH);
	CHECK(response.body.length == 12);
	CHECK(response.keep_alive && response.minor == 1);
	CHECK(!response.is_interim && !response.is_tunnel);
	CHECK(parse("HTTP/1.1 200 \r\n\r\n", HTTP_METHOD_OTHER) == 0);
	CHECK(response.reason.len == 0);
	CHECK(parse("HTTP/1.0 999\r\n\r\n", HTTP_METHOD_OTHER) == 0);
	CHECK(response.status == 999 && response.minor == 0);
	CHECK(parse("HTTP/1.1 200 \xc3\xa4 \r\n\r\n", HTTP_METHOD_OTHER) == 0);
}

static void bodies_depend_on_request_and_status(void)
{
	static const struct {
		const char *text;
		enum http_method asked;
		enum http_body_kind kind;
		bool has_length, keep_alive, is_interim, is_tunnel;
	} cases[] = {
#define L "Content-Length: 5\r\n"
#define C "Transfer-Encoding: chunked\r\n"
		{ OK L "\r\n", 0, HTTP_BODY_LENGTH, true, true, 0, 0 },
		{ OK C "\r\n", 0, HTTP_BODY_CHUNKED, false, true, 0, 0 },
		/* Some servers name it: it is theirs and ours, after all. */
		{ OK C "Connection: keep-alive, Transfer-Encoding\r\n\r\n", 0,
		  HTTP_BODY_CHUNKED, false, true, 0, 0 },
		{ OK "\r\n", 0, HTTP_BODY_UNTIL_CLOSE, false, false, 0, 0 },
		{ OK "Connection: keep-alive\r\n\r\n", 0, HTTP_BODY_UNTIL_CLOSE,
		  false, false, 0, 0 },
		{ OK L "Connection: close\r\n\r\n", 0, HTTP_BODY_LENGTH, true,
		  false, 0, 0 },
		{ OK L "\r\n", HTTP_METHOD_HEAD, HTTP_BODY_NONE, true, true, 0,
		  0 },
		{ OK C "\r\n", HTTP_METHOD_HEAD, HTTP_BODY_NONE, false, true, 0,
		  0 },
		{ OK "\r\n", HTTP_METHOD_HEAD, HTTP_BODY_NONE, false, true, 0,
		  0 },
		{ OK "\r\n", HTTP_METHOD_CONNECT, HTTP_BODY_NONE, false, true,
		  0, true },
		{ OK L "\r\n", HTTP_METHOD_CONNECT, HTTP_BODY_NONE, false, true,
		  0, true },
		{ OK C "\r\n", HTTP_METHOD_CONNECT, HTTP_BODY_NONE, false, true,
		  0, true },
		{ "HTTP/1.1 299 x\r\n\r\n", HTTP_METHOD_CONNECT, HTTP_BODY_NONE,
		  false, true, 0, true },
		{ "HTTP/1.1 407 x\r\n" L "\r\n", HTTP_METHOD_CONNECT,
		  HTTP_BODY_LENGTH, true, true, 0, 0 },
		{ "HTTP/1.1 300 x\r\n\r\n", HTTP_METHOD_CONNECT,
		  HTTP_BODY_UNTIL_CLOSE, false, false, 0, 0 },
		{ "HTTP/1.1 100 Continue\r\n\r\n", 0, HTTP_BODY_NONE, false,
		  true, true, 0 },
		{ "HTTP/1.1 103 x\r\n" L "\r\n", 0, HTTP_BODY_NONE, false, true,
		  true, 0 },
		{ "HTTP/1.1 199 x\r\n" C "\r\n", 0, HTTP_BODY_NONE, false, true,
		  true, 0 },
		{ "HTTP/1.1 100 x\r\n\r\n", HTTP_METHOD_CONNECT, HTTP_BODY_NONE,
		  false, true, true, 0 },
		{ "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n"
		  "Connection: upgrade\r\n\r\n",
		  0, HTTP_BODY_NONE, false, true, 0, true },
		{ "HTTP/1.1 204 x\r\n" L "\r\n", 0, HTTP_BODY_NONE, false, true,
		  0, 0 },
		{ "HTTP/1.1 204 x\r\n" C "\r\n", 0, HTTP_BODY_NONE, false, true,
		  0, 0 },
		{ "HTTP/1.1 304 x\r\n" L "\r\n", 0, HTTP_BODY_NONE, true, true,
		  0, 0 },
		{ "HTTP/1.1 304 x\r\n" C "\r\n", 0, HTTP_BODY_NONE, false, true,
		  0, 0 },
		{ "HTTP/1.0 200 x\r\n" L "\r\n", 0, HTTP_BODY_LENGTH, true,
		  false, 0, 0 },
		{ "HTTP/1.0 200 x\r\nConnection: keep-alive\r\n" L "\r\n", 0,
		  HTTP_BODY_LENGTH, true, true, 0, 0 },
		{ "HTTP/1.0 200 x\r\n\r\n", 0, HTTP_BODY_UNTIL_CLOSE, false,
		  false, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(parse(cases[i].text, cases[i].asked) == 0);
		if (response.body.kind != cases[i].kind)
			printf("# %s\n", cases[i].text);
		CHECK(response.body.kind == cases[i].kind);
		CHECK(response.body.has_length == cases[i].has_length);
		CHECK(response.keep_alive == cases[i].keep_alive);
		CHECK(response.is_interim == cases[i].is_interim);
		CHECK(response.is_tunnel == cases[i].is_tunnel);
		CHECK(response.fields.count == 0);
	}
}

static void upgrades_are_told(void)
{
	CHECK(parse("HTTP/1.1 101 x\r\nUpgrade: websocket\r\n"
		    "Connection: Upgrade\r\nX: y\r\n\r\n",
		    0) == 0);
	CHECK(span_is(response.upgrade, "websocket"));
	CHECK(response.fields.count == 1);
	CHECK(parse("HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n", 0) == 0);
	CHECK(response.upgrade.len == 0);
	CHECK(parse(OK "Upgrade: h2,h2c\r\nConnection: Upgrade\r\n" L "\r\n",
		    0) == 0);
	CHECK(response.upgrade.len == 0 && response.fields.count == 0);
}

static void what_could_be_read_differently_is_refused(void)
{
	static const char *const cases[] = {
		"",
		"\r\n",
		"HTTP/1.1\r\n\r\n",
		"HTTP/1.1 \r\n\r\n",
		"HTTP/1.1 20\r\n\r\n",
		"HTTP/1.1 2000\r\n\r\n",
		"HTTP/1.1 099 x\r\n\r\n",
		"HTTP/1.1 2x0 x\r\n\r\n",
		"HTTP/1.1 +20 x\r\n\r\n",
		"HTTP/1.1  200 x\r\n\r\n",
		"HTTP/1.1\t200 x\r\n\r\n",
		"HTTP/1.1 200\tx\r\n\r\n",
		"HTTP/2.0 200 x\r\n\r\n",
		"HTTP/1.2 200 x\r\n\r\n",
		"http/1.1 200 x\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
		" HTTP/1.1 200 x\r\n\r\n",
		"\r\nHTTP/1.1 200 x\r\n\r\n",
		"HTTP/1.1 200 a\x01\r\n\r\n",
		"HTTP/1.1 200 a\rb\r\n\r\n",
		"HTTP/1.1 200 x\n\n",
		OK "X: y\n\r\n",
		OK "X : y\r\n\r\n",
		OK "X: a\r\n b\r\n\r\n",
		OK "X: a\x0b\r\n\r\n",
		OK L L "\r\n",
		OK C C "\r\n",
		OK L C "\r\n",
		OK C L "\r\n",
		OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
		OK "Transfer-Encoding: identity\r\n\r\n",
		OK "Content-Length: 5,5\r\n\r\n",
		OK "Content-Length: -1\r\n\r\n",
		OK "Content_Length: 5\r\n\r\n",
		"HTTP/1.0 200 x\r\n" C "\r\n",
		"HTTP/1.1 204 x\r\n" L C "\r\n",
		"HTTP/1.1 304 x\r\n" L L "\r\n",
		OK "\r\nX",
		OK "X\r\n\r\n",
		OK,
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int result = parse(cases[i], HTTP_METHOD_OTHER);

		if (result == 0)
			printf("# %s\n", cases[i]);
		CHECK(result == -1 && problem.status == 502 && problem.text);
	}
}

static void a_cut_head_is_refused(void)
{
	static const char text[] = OK "Content-Length: 10\r\nX: y\r\n\r\n";

	for (size_t len = 0; len <= sizeof(text) - 1; len++) {
		char *copy = malloc(len ? len : 1);
		int result;

		memcpy(copy, text, len);
		result = http1_response_parse(copy, len, HTTP_METHOD_OTHER,
					      &response, &problem);
		CHECK(result == (len == sizeof(text) - 1 ? 0 : -1));
		free(copy);
	}
}

static void trailers_are_read(void)
{
	static const char *const bad[] = {
		"",
		"X: y\r\n",
		"X: y\n\r\n",
		"X : y\r\n\r\n",
		"X: y\r\n z\r\n\r\n",
		"Content-Length: 5\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n",
		"Host: a.com\r\n\r\n",
		"Connection: close\r\n\r\n",
		"Trailer: x\r\n\r\n",
		"Authorization: x\r\n\r\n",
		"Set-Cookie: x\r\n\r\n",
		"Content_Length: 5\r\n\r\n",
		"\r\nX: y\r\n\r\n",
	};
	static struct http_fields fields;
	static char text[2 * HTTP1_TRAILERS_MAX];

	CHECK(http1_trailers_parse("\r\n", 2, &fields, &problem) == 0);
	CHECK(fields.count == 0);
	CHECK(http1_trailers_parse("Grpc-Status: 0\r\nX:\r\n\r\n", 22, &fields,
				   &problem) == 0);
	CHECK(fields.count == 2);
	CHECK(span_is(fields.list[0].value, "0"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(http1_trailers_parse(bad[i], strlen(bad[i]), &fields,
					   &problem) < 0);
	(void)snprintf(text, sizeof(text), "X: %0*d\r\n\r\n",
		       HTTP1_TRAILERS_MAX, 0);
	CHECK(http1_trailers_parse(text, strlen(text), &fields, &problem) < 0);
	CHECK(problem.status == 431);
}

int main(void)
{
	RUN(a_response_is_read);
	RUN(bodies_depend_on_request_and_status);
	RUN(upgrades_are_told);
	RUN(what_could_be_read_differently_is_refused);
	RUN(a_cut_head_is_refused);
	RUN(trailers_are_read);
	return DONE();
}
