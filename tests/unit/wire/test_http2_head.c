/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http2_head.c - header blocks of HTTP/2, what they mean and what is wrong
 */
#include "wire/http2_head.h"

#include "lib/http_same.h"
#include "lib/tap.h"

static struct http2_block block;
static struct http_request request;
static struct http_response response;
static struct http_fields trailers;
static struct http_problem problem;

static void begin(void)
{
	http2_block_release(&block);
}

static void add(const char *name, const char *value)
{
	(void)http2_block_add(&block, span_of(name), span_of(value));
}

static void begin_request(const char *method, const char *path)
{
	begin();
	add(":method", method);
	add(":scheme", "https");
	add(":authority", "api.example");
	add(":path", path);
}

static void begin_response(const char *status)
{
	begin();
	add(":status", status);
}

/* 0, or the status of the refusal. */
static unsigned of_request(bool ends)
{
	problem = (struct http_problem){ 0 };
	return http2_request_parse(&block, ends, &request, &problem) == 0
		       ? 0
		       : problem.status;
}

static unsigned of_response(enum http_method asked, bool ends)
{
	problem = (struct http_problem){ 0 };
	return http2_response_parse(&block, asked, ends, &response, &problem) ==
			       0
		       ? 0
		       : problem.status;
}

static bool says(const char *text)
{
	return problem.text && !strcmp(problem.text, text);
}

static void a_request_means_what_it_means_in_http1(void)
{
	begin_request("GET", "/a?b=c");
	add("accept", "*/*");
	add("te", "trailers");
	CHECK(of_request(true) == 0);
	CHECK(span_is(request.method, "GET") &&
	      span_is(request.path, "/a?b=c"));
	CHECK(request.scheme == HTTP_SCHEME_HTTPS && request.has_authority);
	CHECK(!strcmp(request.authority.host, "api.example"));
	CHECK(request.target == HTTP_TARGET_ORIGIN && request.keep_alive);
	CHECK(request.accepts_trailers && !request.expects_continue);
	CHECK(request.fields.count == 1 && request.upgrade.len == 0);
	CHECK(request.body.kind == HTTP_BODY_NONE);
	CHECK(http_request_survives(&request));
}

static void the_body_is_what_ends_and_length_say(void)
{
	begin_request("POST", "/");
	CHECK(of_request(false) == 0);
	CHECK(request.body.kind == HTTP_BODY_CHUNKED &&
	      !request.body.has_length);
	CHECK(of_request(true) == 0);
	CHECK(request.body.kind == HTTP_BODY_LENGTH &&
	      request.body.has_length && request.body.length == 0);
	add("content-length", "7");
	CHECK(of_request(false) == 0);
	CHECK(request.body.kind == HTTP_BODY_LENGTH &&
	      request.body.length == 7);
	CHECK(of_request(true) == 400);
	add("content-length", "7");
	CHECK(of_request(false) == 400 && says("Content-Length twice"));
	begin_request("TRACE", "/");
	CHECK(of_request(false) == 400);
	CHECK(of_request(true) == 0);
}

static void pseudo_fields_are_first_once_and_known(void)
{
	static const char *const names[] = { ":method", ":scheme", ":authority",
					     ":path" };

	for (size_t i = 0; i < 4; i++) {
		begin_request("GET", "/");
		add(names[i], "x");
		CHECK(of_request(true) == 400 &&
		      says("pseudo-header field twice"));
	}
	for (size_t left = 0; left < 4; left++) {
		static const char *const values[] = { "GET", "https", "a.b",
						      "/" };

		begin();
		for (size_t i = 0; i < 4; i++) {
			if (i != left)
				add(names[i], values[i]);
		}
		CHECK(of_request(true) == 400);
	}
	begin_request("GET", "/");
	add("a", "b");
	add(":path", "/other");
	CHECK(of_request(true) == 400 && says("pseudo-header field too late"));
	begin_request("GET", "/");
	add(":status", "200");
	CHECK(of_request(true) == 400);
	begin_request("GET", "/");
	add("", "x");
	CHECK(of_request(true) == 400);
}

static void connect_is_refused_plain_and_extended(void)
{
	begin();
	add(":method", "CONNECT");
	add(":authority", "api.example:443");
	CHECK(of_request(false) == 501);
	begin_request("CONNECT", "/chat");
	add(":protocol", "websocket");
	CHECK(of_request(false) == 400 && says("unknown pseudo-header field"));
}

static void methods_and_targets_are_as_strict_as_in_http1(void)
{
	static const char *const bad_methods[] = { "", "get", "GE T", "G\nT",
						   "GET\r\nX: y" };
	static const char *const bad_paths[] = {
		"",         "a",     "*",          "/a b",
		"/a#b",     "/\x01", "/a\r\nX: y", "http://other.example/",
		"/\xc3\xa4"
	};
	static char long_path[HTTP_TARGET_MAX + 2];

	for (size_t i = 0; i < 5; i++) {
		begin_request(bad_methods[i], "/");
		CHECK(of_request(true) == 400);
	}
	for (size_t i = 0; i < 9; i++) {
		begin_request("GET", bad_paths[i]);
		CHECK(of_request(true) == 400);
	}
	begin_request("OPTIONS", "*");
	CHECK(of_request(true) == 0 && request.target == HTTP_TARGET_ASTERISK);
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[0] = '/';
	begin_request("GET", long_path);
	CHECK(of_request(true) == 414);
}

static void fields_of_a_connection_are_refused(void)
{
	static const char *const bad[][2] = {
		{ "connection", "close" },
		{ "connection", "x-secret" },
		{ "keep-alive", "1" },
		{ "proxy-connection", "close" },
		{ "transfer-encoding", "chunked" },
		{ "upgrade", "websocket" },
		{ "http2-settings", "AAMAAABk" },
		{ "te", "gzip" },
		{ "te", "trailers, gzip" },
		{ "transfer_encoding", "chunked" },
		{ "content_length", "3" },
		{ "expect", "else" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin_request("POST", "/");
		add(bad[i][0], bad[i][1]);
		CHECK(of_request(false) >= 400);
		begin_response("200");
		add(bad[i][0], bad[i][1]);
		CHECK(of_response(HTTP_METHOD_OTHER, false) == 502);
	}
}

static void malformed_fields_are_refused(void)
{
	static const char *const bad[][2] = {
		{ "Accept", "a" }, { "a b", "c" },       { "a:", "c" },
		{ "a\r\nb", "c" }, { "a", "b\r\nc: d" }, { "a", "b\nc" },
		{ "a", " b" },     { "a", "b\t" },       { "a", "\x01" },
		{ "a", "\x7f" },   { "\xc3\xa4", "b" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin_request("GET", "/");
		add(bad[i][0], bad[i][1]);
		CHECK(of_request(true) == 400);
	}
	begin_request("GET", "/");
	(void)http2_block_add(&block, span_of("a"), span_over("b\0c", 3));
	CHECK(of_request(true) == 400);
}

static void host_may_only_repeat_the_authority(void)
{
	begin_request("GET", "/");
	add("host", "API.example");
	CHECK(of_request(true) == 0 && request.fields.count == 0);
	begin_request("GET", "/");
	add("host", "other.example");
	CHECK(of_request(true) == 400 && says(":authority and Host disagree"));
	begin_request("GET", "/");
	add("host", "api.example:8443");
	CHECK(of_request(true) == 400);
	begin_request("GET", "/");
	add("host", "api.example");
	add("host", "api.example");
	CHECK(of_request(true) == 400);
	begin();
	add(":method", "GET");
	add(":scheme", "https");
	add(":path", "/");
	add("host", "api.example");
	CHECK(of_request(true) == 0 &&
	      !strcmp(request.authority.host, "api.example"));
	begin();
	add(":method", "GET");
	add(":scheme", "https");
	add(":authority", "user@api.example");
	add(":path", "/");
	CHECK(of_request(true) == 400);
}

static void cookies_in_pieces_become_one(void)
{
	const struct http_field *cookie;

	begin_request("GET", "/");
	add("cookie", "a=b");
	add("accept", "x");
	add("cookie", "c=d");
	add("cookie", "e=f");
	http2_block_join_cookies(&block);
	CHECK(of_request(true) == 0 && request.fields.count == 2);
	cookie = http_fields_find(&request.fields, "cookie", NULL);
	CHECK(cookie && span_is(cookie->value, "a=b; c=d; e=f"));
	begin_request("GET", "/");
	http2_block_join_cookies(&block);
	CHECK(of_request(true) == 0 && request.fields.count == 0);
}

static void too_much_is_431(void)
{
	static char value[16000];

	memset(value, 'v', sizeof(value) - 1);
	begin_request("GET", "/");
	for (int i = 0; i < 4; i++)
		add("a", value);
	CHECK(of_request(true) == 0);
	add("a", value);
	CHECK(block.too_large && of_request(true) == 431);
	/* Also when what follows would fit. */
	add("a", "b");
	CHECK(of_request(true) == 431);
	CHECK(block.list_size <= HTTP2_LIST_MAX);
	begin_request("GET", "/");
	for (int i = 0; i < HTTP_FIELDS_MAX + 1; i++)
		add("a", "b");
	CHECK(of_request(true) == 431);
	begin_request("GET", "/");
	for (int i = 0; i < HTTP2_BLOCK_FIELDS_MAX; i++)
		add("a", "b");
	CHECK(block.too_large && block.count == HTTP2_BLOCK_FIELDS_MAX);
}

static void a_response_has_the_body_that_it_may_have(void)
{
	begin_response("200");
	CHECK(of_response(HTTP_METHOD_OTHER, false) == 0);
	CHECK(response.status == 200 &&
	      response.body.kind == HTTP_BODY_CHUNKED);
	CHECK(of_response(HTTP_METHOD_OTHER, true) == 0);
	CHECK(response.body.kind == HTTP_BODY_LENGTH &&
	      response.body.length == 0 && response.body.has_length);
	add("content-length", "5");
	CHECK(of_response(HTTP_METHOD_OTHER, false) == 0);
	CHECK(response.body.kind == HTTP_BODY_LENGTH &&
	      response.body.length == 5);
	CHECK(of_response(HTTP_METHOD_OTHER, true) == 502);
	CHECK(of_response(HTTP_METHOD_HEAD, true) == 0);
	CHECK(response.body.kind == HTTP_BODY_NONE &&
	      response.body.has_length && response.body.length == 5);
	begin_response("304");
	CHECK(of_response(HTTP_METHOD_OTHER, true) == 0 &&
	      response.body.kind == HTTP_BODY_NONE);
	begin_response("204");
	CHECK(of_response(HTTP_METHOD_OTHER, true) == 0 &&
	      response.body.kind == HTTP_BODY_NONE);
	begin_response("103");
	add("link", "</a>");
	CHECK(http2_is_interim(&block));
	CHECK(of_response(HTTP_METHOD_OTHER, false) == 0 &&
	      response.is_interim);
	CHECK(of_response(HTTP_METHOD_OTHER, true) == 502);
}

static void a_bad_status_is_the_fault_of_the_server(void)
{
	static const char *const bad[] = { "",    "20",  "2000", "099",
					   "2x0", "101", " 20",  "+20" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin_response(bad[i]);
		CHECK(of_response(HTTP_METHOD_OTHER, false) == 502);
	}
	begin();
	CHECK(of_response(HTTP_METHOD_OTHER, false) == 502);
	begin_response("200");
	add(":path", "/");
	CHECK(of_response(HTTP_METHOD_OTHER, false) == 502);
	CHECK(!http2_is_interim(&block));
}

static void trailers_change_nothing(void)
{
	static const char *const bad[] = { "content-length",
					   "host",
					   "authorization",
					   "set-cookie",
					   ":status",
					   "transfer-encoding",
					   "te",
					   "content-type" };
	static char value[HTTP1_TRAILERS_MAX];

	begin();
	add("grpc-status", "0");
	CHECK(http2_trailers_parse(&block, &trailers, &problem) == 0 &&
	      trailers.count == 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin();
		add(bad[i], "trailers");
		CHECK(http2_trailers_parse(&block, &trailers, &problem) < 0);
	}
	memset(value, 'v', sizeof(value) - 1);
	begin();
	add("a", value);
	CHECK(http2_trailers_parse(&block, &trailers, &problem) < 0 &&
	      problem.status == 431);
}

static void what_is_read_is_written_the_same(void)
{
	static struct http_request again;
	static struct http_response answer;
	struct http2_block copy;

	begin_request("POST", "/a?b");
	add("x-a", "1");
	add("expect", "100-continue");
	add("te", "trailers");
	add("content-length", "12");
	CHECK(of_request(false) == 0);
	http2_block_init(&copy);
	CHECK(http2_request_encode(&request, &copy) == 0);
	CHECK(http2_request_parse(&copy, false, &again, &problem) == 0 &&
	      http_same_request(&request, &again));
	http2_block_release(&copy);
	begin_response("404");
	add("content-length", "12");
	add("server", "x");
	CHECK(of_response(HTTP_METHOD_OTHER, false) == 0);
	CHECK(http2_response_encode(&response, &copy) == 0);
	CHECK(http2_response_parse(&copy, HTTP_METHOD_OTHER, false, &answer,
				   &problem) == 0 &&
	      http_same_response(&response, &answer));
	http2_block_release(&copy);
}

static void what_came_as_http1_can_be_written_as_http2(void)
{
	static const char head[] = "GET http://Api.Example/x HTTP/1.1\r\n"
				   "Host: api.example\r\nX-Big: Yes\r\n"
				   "Connection: x-gone\r\nX-Gone: 1\r\n\r\n";
	struct http_field field = { 0 };
	size_t at = 0;

	begin();
	CHECK(http1_request_parse(head, strlen(head), &request, &problem) == 0);
	CHECK(http2_request_encode(&request, &block) == 0 && block.count == 5);
	while (http2_block_next(&block, &at, &field))
		;
	CHECK(span_is(field.name, "x-big") && span_is(field.value, "Yes"));
	request.scheme = HTTP_SCHEME_NONE;
	begin();
	CHECK(http2_request_encode(&request, &block) < 0);
}

int main(void)
{
	http2_block_init(&block);
	RUN(a_request_means_what_it_means_in_http1);
	RUN(the_body_is_what_ends_and_length_say);
	RUN(pseudo_fields_are_first_once_and_known);
	RUN(connect_is_refused_plain_and_extended);
	RUN(methods_and_targets_are_as_strict_as_in_http1);
	RUN(fields_of_a_connection_are_refused);
	RUN(malformed_fields_are_refused);
	RUN(host_may_only_repeat_the_authority);
	RUN(cookies_in_pieces_become_one);
	RUN(too_much_is_431);
	RUN(a_response_has_the_body_that_it_may_have);
	RUN(a_bad_status_is_the_fault_of_the_server);
	RUN(trailers_change_nothing);
	RUN(what_is_read_is_written_the_same);
	RUN(what_came_as_http1_can_be_written_as_http2);
	http2_block_release(&block);
	return DONE();
}
