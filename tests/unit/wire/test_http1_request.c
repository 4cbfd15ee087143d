/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http1_request.c - request heads, those taken and those refused
 */
#include "wire/http1_head.h"

#include "lib/tap.h"

static struct http_request request;
static struct http_problem problem;

static int parse(const char *text)
{
	problem = (struct http_problem){ 0 };
	return http1_request_parse(text, strlen(text), &request, &problem);
}

#define GET "GET / HTTP/1.1\r\nHost: a.com\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a.com\r\n"

static void a_request_is_read(void)
{
	CHECK(parse("GET /a/b?c=d HTTP/1.1\r\n"
		    "Host: WWW.Example.com:8080\r\n"
		    "User-Agent:  x/1.0  \r\n"
		    "Accept:*/*\r\n"
		    "X-Empty:\r\n"
		    "\r\n") == 0);
	CHECK(span_is(request.method, "GET"));
	CHECK(request.method_kind == HTTP_METHOD_OTHER);
	CHECK(request.target == HTTP_TARGET_ORIGIN);
	CHECK(request.scheme == HTTP_SCHEME_NONE);
	CHECK(request.has_authority);
	CHECK(!strcmp(request.authority.host, "www.example.com"));
	CHECK(request.authority.port == 8080);
	CHECK(span_is(request.path, "/a/b?c=d"));
	CHECK(request.fields.count == 3); /* Host is the authority */
	CHECK(span_is(request.fields.list[0].name, "User-Agent"));
	CHECK(span_is(request.fields.list[0].value, "x/1.0"));
	CHECK(span_is(request.fields.list[1].value, "*/*"));
	CHECK(request.fields.list[2].value.len == 0);
	CHECK(request.body.kind == HTTP_BODY_NONE && !request.body.has_length);
	CHECK(request.minor == 1 && request.keep_alive);
	CHECK(!request.expects_continue && !request.accepts_trailers);
	CHECK(request.upgrade.len == 0);
}

static void forms_of_targets_are_told(void)
{
	CHECK(parse("CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\n\r\n") ==
	      0);
	CHECK(request.target == HTTP_TARGET_AUTHORITY);
	CHECK(request.method_kind == HTTP_METHOD_CONNECT);
	CHECK(request.authority.port == 443 && request.path.len == 0);
	CHECK(parse("CONNECT [2001:db8::1]:22 HTTP/1.1\r\n"
		    "Host: [2001:DB8::1]\r\n\r\n") == 0);
	CHECK(request.authority.address.family == ADDRESS_V6);
	CHECK(parse("OPTIONS * HTTP/1.1\r\nHost: a.com\r\n\r\n") == 0);
	CHECK(request.target == HTTP_TARGET_ASTERISK);
	CHECK(span_is(request.path, "*"));
	CHECK(parse("GET http://A.com/x HTTP/1.1\r\nHost: a.com\r\n\r\n") == 0);
	CHECK(request.target == HTTP_TARGET_ABSOLUTE);
	CHECK(request.scheme == HTTP_SCHEME_HTTP);
	CHECK(span_is(request.path, "/x"));
	CHECK(parse("GET HTTPS://a.com HTTP/1.1\r\nHost: a.com:443\r\n\r\n") ==
	      0);
	CHECK(request.scheme == HTTP_SCHEME_HTTPS);
	CHECK(span_is(request.path, "/"));
	CHECK(parse("OPTIONS http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n") ==
	      0);
	CHECK(span_is(request.path, "*"));
	CHECK(parse("GET http://a.com:80/ HTTP/1.1\r\nHost: a.com\r\n\r\n") ==
	      0);
	CHECK(parse("GET http://a.com/ HTTP/1.0\r\n\r\n") == 0);
	CHECK(request.has_authority);
	CHECK(parse("HEAD //a/b HTTP/1.1\r\nHost: a.com\r\n\r\n") == 0);
	CHECK(request.method_kind == HTTP_METHOD_HEAD);
	CHECK(span_is(request.path, "//a/b"));
	CHECK(parse("GET / HTTP/1.0\r\n\r\n") == 0);
	CHECK(!request.has_authority);
}

static void bodies_are_framed(void)
{
	CHECK(parse(POST "Content-Length: 0\r\n\r\n") == 0);
	CHECK(request.body.kind == HTTP_BODY_LENGTH);
	CHECK(request.body.has_length && request.body.length == 0);
	CHECK(parse(POST "content-length: 9223372036854775799\r\n\r\n") == 0);
	CHECK(request.body.length == 9223372036854775799u);
	CHECK(parse(POST "Transfer-Encoding: CHUNKED\r\n\r\n") == 0);
	CHECK(request.body.kind == HTTP_BODY_CHUNKED);
	CHECK(!request.body.has_length);
	CHECK(request.fields.count == 0);
	CHECK(parse("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n") ==
	      0);
	CHECK(request.body.length == 3);
}

static void connections_are_kept_or_closed(void)
{
	static const struct {
		const char *text;
		bool keep_alive;
	} cases[] = {
		{ GET "\r\n", true },
		{ GET "Connection: close\r\n\r\n", false },
		{ GET "Connection: Keep-Alive\r\n\r\n", true },
		{ GET "Connection: keep-alive, CLOSE\r\n\r\n", false },
		{ GET "Connection: x\r\nConnection: close\r\n\r\n", false },
		{ GET "Connection: , ,close,\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
		  false },
		{ "GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n",
		  false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(parse(cases[i].text) == 0);
		if (request.keep_alive != cases[i].keep_alive)
			printf("# %s\n", cases[i].text);
		CHECK(request.keep_alive == cases[i].keep_alive);
		CHECK(request.fields.count == 0);
	}
}

/* What is between the client and us goes no further. */
static void hop_by_hop_fields_are_taken_out(void)
{
	CHECK(parse(GET "Connection: X-Mine, x-other, close\r\n"
			"x-mine: 1\r\nKeep: 2\r\nX-Other: 3\r\nx-mine: 4\r\n"
			"Keep-Alive: timeout=5\r\n"
			"Proxy-Connection: close\r\n"
			"Proxy-Authorization: Basic eDp5\r\n"
			"HTTP2-Settings: AAMAAABk\r\n"
			"TE: gzip, trailers\r\n"
			"Expect: 100-Continue\r\n\r\n") == 0);
	CHECK(request.fields.count == 1);
	CHECK(span_is(request.fields.list[0].name, "Keep"));
	CHECK(request.accepts_trailers && request.expects_continue);
	CHECK(parse("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n") == 0);
	CHECK(!request.expects_continue && request.fields.count == 0);
}

static void upgrades_are_told(void)
{
	CHECK(parse(GET
		    "Connection: keep-alive, Upgrade\r\n"
		    "Upgrade: WebSocket\r\nSec-WebSocket-Key: x\r\n\r\n") == 0);
	CHECK(span_matches_text(request.upgrade, "websocket"));
	CHECK(request.fields.count == 1);
	/* Not asked for in the proper way, or not possible. */
	CHECK(parse(GET "Upgrade: websocket\r\n\r\n") == 0);
	CHECK(request.upgrade.len == 0 && request.fields.count == 0);
	CHECK(parse(GET "Connection: upgrade\r\n\r\n") == 0);
	CHECK(request.upgrade.len == 0);
	CHECK(parse("GET / HTTP/1.0\r\nConnection: upgrade\r\n"
		    "Upgrade: websocket\r\n\r\n") == 0);
	CHECK(request.upgrade.len == 0);
	CHECK(parse(POST "Connection: upgrade\r\nUpgrade: h2c\r\n"
			 "Content-Length: 5\r\n\r\n") == 0);
	CHECK(request.upgrade.len == 0);
	CHECK(parse("CONNECT a.com:80 HTTP/1.1\r\nHost: a.com\r\n"
		    "Connection: upgrade\r\nUpgrade: x\r\n\r\n") == 0);
	CHECK(request.upgrade.len == 0);
}

static const struct refused {
	const char *text;
	uint16_t status; /* 0: 400 */
} refused[] = {
	/* lines */
	{ "GET / HTTP/1.1\nHost: a.com\n\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com\r\nX: y\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com\r\rX: y\r\n\r\n", 0 },
	{ GET "X: a\rb\r\n\r\n", 0 },
	{ GET "X: a\nb\r\n\r\n", 0 },
	{ GET "X: a\r\r\n\r\n", 0 },
	{ GET " X: folded\r\n\r\n", 0 },
	{ GET "X: a\r\n b\r\n\r\n", 0 },
	{ GET "X: a\r\n\tb\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\n Host: a.com\r\n\r\n", 0 },
	{ "\r\nGET / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ GET "\r\nX", 0 },
	{ GET "\r\nGET / HTTP/1.1\r\nHost: b.com\r\n\r\n", 0 },
	{ GET, 0 },
	{ "", 0 },
	{ "\r\n", 0 },
	/* request line */
	{ "GET / HTTP/1.1 \r\nHost: a.com\r\n\r\n", 505 },
	{ "GET  / HTTP/1.1\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET /  HTTP/1.1\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET /a b HTTP/1.1\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET\t/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ " GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\tx\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET /\r\n\r\n", 0 },
	{ "GET\r\n\r\n", 0 },
	{ "/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "get / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "Get / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "G@T / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET\x01 / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n"
	  "Host: a.com\r\n\r\n",
	  0 },
	{ "GET / HTTP/2.0\r\nHost: a.com\r\n\r\n", 505 },
	{ "PRI * HTTP/2.0\r\n\r\n", 505 },
	{ "GET / HTTP/1.2\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET / HTTP/0.9\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET / HTTP/1.10\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET / HTTP/11\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET / http/1.1\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET / HTTP/1.1x\r\nHost: a.com\r\n\r\n", 505 },
	{ "GET / XTTP/1.1\r\nHost: a.com\r\n\r\n", 505 },
	/* targets */
	{ "GET /a#b HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET # HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET /\x80 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET /\x7f HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET /\x0b HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET a.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET a.com:80 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET * HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET *x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "OPTIONS ** HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET ?x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET \\x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET ftp://a.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http:/a.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http:///x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://?x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://a.com?x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://u@a.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://u:p@a.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://a.com\\@b.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://a%2ecom/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://127.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 0 },
	{ "GET http://[::1%25lo]/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	/* the target and Host disagree */
	{ "GET http://b.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://a.com:81/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET http://a.com/ HTTP/1.1\r\nHost: a.com:443\r\n\r\n", 0 },
	{ "GET https://a.com/ HTTP/1.1\r\nHost: a.com:80\r\n\r\n", 0 },
	{ "GET http://a.com/ HTTP/1.1\r\n\r\n", 0 },
	{ "CONNECT a.com:443 HTTP/1.1\r\nHost: b.com:443\r\n\r\n", 0 },
	{ "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:80\r\n\r\n", 0 },
	/* CONNECT */
	{ "CONNECT a.com HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT / HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT a.com:443/ HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT http://a.com:443 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT a.com:0 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT a.com:99999 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT u@a.com:443 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT ::1:443 HTTP/1.1\r\nHost: [::1]\r\n\r\n", 0 },
	{ "CONNECT 0x7f.1:443 HTTP/1.1\r\nHost: a.com\r\n\r\n", 0 },
	{ "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com\r\n"
	  "Content-Length: 5\r\n\r\n",
	  0 },
	{ "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  0 },
	{ "TRACE / HTTP/1.1\r\nHost: a.com\r\nContent-Length: 1\r\n\r\n", 0 },
	/* names of fields */
	{ GET "X : a\r\n\r\n", 0 },
	{ GET "X\t: a\r\n\r\n", 0 },
	{ GET ": a\r\n\r\n", 0 },
	{ GET "X\r\n\r\n", 0 },
	{ GET "X a: b\r\n\r\n", 0 },
	{ GET "X(: b\r\n\r\n", 0 },
	{ GET "X\x01: b\r\n\r\n", 0 },
	{ GET "X\xc3\xa4: b\r\n\r\n", 0 },
	{ GET "\"X\": b\r\n\r\n", 0 },
	/* values */
	{ GET "X: a\x01\r\n\r\n", 0 },
	{ GET "X: a\x7f\r\n\r\n", 0 },
	{ GET "X: a\x0b\r\n\r\n", 0 },
	{ GET "X: a\x0c\r\n\r\n", 0 },
	/* Host */
	{ "GET / HTTP/1.1\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost : a.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com\r\nHost: a.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com\r\nhost: b.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.0\r\nHost: a.com\r\nHost: b.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com, b.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com b.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com@b.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com:\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com:8x\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com/\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: http://a.com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a..com\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: a.com\x80\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: 0x7f.0.0.1\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 0 },
	{ "GET / HTTP/1.1\r\nHost_: a.com\r\n\r\n", 0 },
	/* Content-Length */
	{ POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 0 },
	{ POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n", 0 },
	{ POST "Content-Length: 5, 5\r\n\r\n", 0 },
	{ POST "Content-Length:\r\n\r\n", 0 },
	{ POST "Content-Length: +5\r\n\r\n", 0 },
	{ POST "Content-Length: -5\r\n\r\n", 0 },
	{ POST "Content-Length: 05\r\n\r\n", 0 },
	{ POST "Content-Length: 0x5\r\n\r\n", 0 },
	{ POST "Content-Length: 5 5\r\n\r\n", 0 },
	{ POST "Content-Length: 5.0\r\n\r\n", 0 },
	{ POST "Content-Length: 5;\r\n\r\n", 0 },
	{ POST "Content-Length: 9223372036854775808\r\n\r\n", 0 },
	{ POST "Content-Length: 18446744073709551616\r\n\r\n", 0 },
	{ POST "Content-Length: 99999999999999999999999\r\n\r\n", 0 },
	{ POST "Content_Length: 5\r\n\r\n", 0 },
	{ POST "Content-Length : 5\r\n\r\n", 0 },
	/* Transfer-Encoding */
	{ POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 0 },
	{ POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 0 },
	{ POST "Transfer-Encoding: chunked\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n",
	  0 },
	{ POST "Transfer-Encoding: identity\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: chunked, gzip\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: chunked;q=1\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: xchunked\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: chunked,\r\n\r\n", 501 },
	{ POST "Transfer-Encoding:\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: \x0b"
	       "chunked\r\n\r\n",
	  0 },
	{ POST "Transfer-Encoding : chunked\r\n\r\n", 0 },
	{ POST "Transfer_Encoding: chunked\r\n\r\n", 0 },
	{ POST "Transfer-Encoding\r\n : chunked\r\n\r\n", 0 },
	{ POST "Transfer-Encoding:\r\n chunked\r\n\r\n", 0 },
	{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 0 },
	/* Connection and its like */
	{ GET "Connection: a b\r\n\r\n", 0 },
	{ GET "Connection: \"close\"\r\n\r\n", 0 },
	{ GET "Connection: close;x\r\n\r\n", 0 },
	{ GET "Connection: Host\r\n\r\n", 0 },
	{ POST "Connection: close, Content-Length\r\n"
	       "Content-Length: 5\r\n\r\n",
	  0 },
	{ POST "Connection: content-length\r\n\r\n", 0 },
	{ GET "Connection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\r\n\r\n", 0 },
	{ GET "Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n\r\n", 0 },
	{ GET "Expect: 200-ok\r\n\r\n", 417 },
	{ GET "Expect:\r\n\r\n", 417 },
	{ POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 0 },
};

static void what_could_be_read_differently_is_refused(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		uint16_t want = refused[i].status ? refused[i].status : 400;
		int result = parse(refused[i].text);

		if (result == 0 || problem.status != want)
			printf("# %u %u %s\n", want, problem.status,
			       refused[i].text);
		CHECK(result == -1 && problem.status == want && problem.text);
	}
}

static void a_nul_is_refused_wherever_it_is(void)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: a.com\r\nX: y\r\n"
				   "\r\n";

	for (size_t at = 0; at < sizeof(text) - 1; at++) {
		char copy[sizeof(text)];

		memcpy(copy, text, sizeof(text));
		copy[at] = '\0';
		CHECK(http1_request_parse(copy, sizeof(text) - 1, &request,
					  &problem) < 0);
		/* and between two bytes */
		memcpy(copy, text, at);
		memcpy(copy + at + 1, text + at, sizeof(text) - 1 - at);
		copy[at] = '\0';
		CHECK(http1_request_parse(copy, sizeof(text), &request,
					  &problem) < 0);
	}
}

static void a_cut_head_is_refused(void)
{
	static const char text[] = "POST /a HTTP/1.1\r\nHost: a.com\r\n"
				   "Content-Length: 10\r\nX: y\r\n\r\n";

	for (size_t len = 0; len <= sizeof(text) - 1; len++) {
		char *copy = malloc(len ? len : 1);
		int result;

		memcpy(copy, text, len);
		result = http1_request_parse(copy, len, &request, &problem);
		CHECK(result == (len == sizeof(text) - 1 ? 0 : -1));
		free(copy);
	}
}

static void sizes_are_bounded(void)
{
	static char text[2 * HTTP1_HEAD_MAX];
	int len;

	/* the target */
	len = snprintf(text, sizeof(text),
		       "GET /%0*d HTTP/1.1\r\n"
		       "Host: a.com\r\n\r\n",
		       HTTP_TARGET_MAX - 1, 0);
	CHECK(len > 0 && parse(text) == 0);
	(void)snprintf(text, sizeof(text),
		       "GET /%0*d HTTP/1.1\r\n"
		       "Host: a.com\r\n\r\n",
		       HTTP_TARGET_MAX, 0);
	CHECK(parse(text) < 0 && problem.status == 414);
	/* the number of fields */
	for (int fields = HTTP_FIELDS_MAX; fields <= HTTP_FIELDS_MAX + 1;
	     fields++) {
		len = snprintf(text, sizeof(text), GET);
		for (int i = 1; i < fields; i++)
			len += snprintf(text + len, 10, "X: y\r\n");
		(void)snprintf(text + len, 10, "\r\n");
		CHECK(parse(text) == (fields > HTTP_FIELDS_MAX ? -1 : 0));
	}
	CHECK(problem.status == 431);
	/* all of it */
	len = snprintf(text, sizeof(text), GET "X: %0*d\r\n\r\n",
		       HTTP1_HEAD_MAX, 0);
	CHECK(parse(text) < 0 && problem.status == 431);
	CHECK(len > HTTP1_HEAD_MAX);
}

static void ends_of_heads_are_found(void)
{
	static const char text[] = GET "X: y\r\n\r\nBODY\r\n\r\n";
	const int want = (int)(strstr(text, "BODY") - text);
	size_t scanned = 0;

	/* In one piece, in every two, and byte by byte. */
	for (size_t first = 0; first < sizeof(text); first++) {
		int result;

		scanned = 0;
		result = http1_head_length(text, first, &scanned, &problem);
		CHECK(result == ((int)first < want ? 0 : want));
		if (result == 0)
			CHECK(http1_head_length(text, sizeof(text) - 1,
						&scanned, &problem) == want);
	}
	scanned = 0;
	for (int len = 0; len < want; len++)
		CHECK(http1_head_length(text, (size_t)len, &scanned,
					&problem) == 0);
	CHECK(http1_head_length(text, (size_t)want, &scanned, &problem) ==
	      want);
	scanned = 0;
	CHECK(http1_head_length(NULL, 0, &scanned, &problem) == 0);
}

static int length_of(const char *text)
{
	size_t scanned = 0;

	return http1_head_length(text, strlen(text), &scanned, &problem);
}

static void heads_that_cannot_end_well_are_refused_early(void)
{
	static char text[2 * HTTP1_HEAD_MAX];
	size_t scanned = 0;

	CHECK(length_of("GET / HTTP/1.1\n") < 0 && problem.status == 400);
	CHECK(length_of("GET / HTTP/1.1\r\nHost: a\n") < 0);
	CHECK(length_of("\n") < 0);
	CHECK(length_of("\r\n") < 0);
	CHECK(length_of("GET / HTTP/1.1\r\n\n") < 0);
	CHECK(length_of("GET / HTTP/1.1\r\n\r\n") == 18);
	memset(text, 'a', sizeof(text));
	CHECK(http1_head_length(text, HTTP1_HEAD_MAX - 1, &scanned, &problem) ==
	      0);
	CHECK(http1_head_length(text, HTTP1_HEAD_MAX, &scanned, &problem) < 0);
	CHECK(problem.status == 431);
	/* The largest, and one byte more. */
	scanned = 0;
	memcpy(text + HTTP1_HEAD_MAX - 4, "\r\n\r\n", 4);
	CHECK(http1_head_length(text, sizeof(text), &scanned, &problem) ==
	      HTTP1_HEAD_MAX);
	scanned = 0;
	memcpy(text + HTTP1_HEAD_MAX - 4, "a\r\n\r\n", 5);
	CHECK(http1_head_length(text, sizeof(text), &scanned, &problem) < 0);
}

int main(void)
{
	RUN(a_request_is_read);
	RUN(forms_of_targets_are_told);
	RUN(bodies_are_framed);
	RUN(connections_are_kept_or_closed);
	RUN(hop_by_hop_fields_are_taken_out);
	RUN(upgrades_are_told);
	RUN(what_could_be_read_differently_is_refused);
	RUN(a_nul_is_refused_wherever_it_is);
	RUN(a_cut_head_is_refused);
	RUN(sizes_are_bounded);
	RUN(ends_of_heads_are_found);
	RUN(heads_that_cannot_end_well_are_refused_early);
	return DONE();
}
