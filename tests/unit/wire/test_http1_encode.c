/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http1_encode.c - heads written again mean the same
 */
#include "wire/http1_encode.h"

#include "lib/http_same.h"
#include "lib/tap.h"

static struct http_request request;
static struct http_response response;
static struct http_problem problem;
static char out[HTTP1_ENCODED_MAX + 1];

static const char *encode_request(const char *text, unsigned flags)
{
	int len = -1;

	if (http1_request_parse(text, strlen(text), &request, &problem) == 0)
		len = http1_request_encode(&request, flags, out,
					   sizeof(out) - 1);
	out[len > 0 ? len : 0] = '\0';
	return out;
}

static const char *encode_response(const char *text, unsigned flags)
{
	int len = -1;

	if (http1_response_parse(text, strlen(text), HTTP_METHOD_OTHER,
				 &response, &problem) == 0)
		len = http1_response_encode(&response, flags, out,
					    sizeof(out) - 1);
	out[len > 0 ? len : 0] = '\0';
	return out;
}

static void requests_are_written_from_their_meaning(void)
{
	static const struct {
		const char *in;
		unsigned flags;
		const char *want;
	} cases[] = {
		{ "GET /a?b HTTP/1.1\r\nX:  y \r\nHOST: A.com.\r\n"
		  "Connection: z\r\nKeep-Alive: 5\r\n\r\n",
		  0, "GET /a?b HTTP/1.1\r\nHost: a.com\r\nX: y\r\n\r\n" },
		{ "GET http://a.com:80/x HTTP/1.1\r\nHost: a.com\r\n\r\n", 0,
		  "GET /x HTTP/1.1\r\nHost: a.com:80\r\n\r\n" },
		{ "GET http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n",
		  HTTP1_ABSOLUTE | HTTP1_CLOSE,
		  "GET http://a.com/ HTTP/1.1\r\nHost: a.com\r\n"
		  "Connection: close\r\n\r\n" },
		{ "OPTIONS http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n",
		  HTTP1_ABSOLUTE,
		  "OPTIONS http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n" },
		{ "OPTIONS http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n", 0,
		  "OPTIONS * HTTP/1.1\r\nHost: a.com\r\n\r\n" },
		{ "CONNECT [::1]:22 HTTP/1.1\r\nHost: [::1]\r\n\r\n", 0,
		  "CONNECT [::1]:22 HTTP/1.1\r\nHost: [::1]:22\r\n\r\n" },
		{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-encoding: Chunked\r\n"
		  "Expect: 100-Continue\r\n\r\n",
		  HTTP1_KEEP_ALIVE,
		  "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
		  "Transfer-Encoding: chunked\r\n"
		  "Connection: keep-alive\r\n\r\n" },
		{ "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n"
		  "Connection: TE, Upgrade\r\nUpgrade: websocket\r\n\r\n",
		  HTTP1_UPGRADE,
		  "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
		  "TE: trailers\r\nConnection: TE, Upgrade\r\n\r\n" },
		{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
		  "Upgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
		  0, "GET / HTTP/1.1\r\nHost: a\r\n\r\n" },
		/* says too little for that form */
		{ "GET / HTTP/1.0\r\n\r\n", 0, "" },
		{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP1_ABSOLUTE, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		encode_request(cases[i].in, cases[i].flags);
		if (strcmp(out, cases[i].want))
			printf("# %s\n", out);
		CHECK(!strcmp(out, cases[i].want));
	}
}

static void responses_are_written_from_their_meaning(void)
{
	CHECK(!strcmp(encode_response("HTTP/1.0 200  Fine \r\nX:y\r\n"
				      "Content-Length: 3\r\n\r\n",
				      HTTP1_CLOSE),
		      "HTTP/1.1 200 Fine\r\nX: y\r\nContent-Length: 3\r\n"
		      "Connection: close\r\n\r\n"));
	CHECK(!strcmp(encode_response("HTTP/1.1 204\r\nContent-Length: 0\r\n"
				      "\r\n",
				      0),
		      "HTTP/1.1 204 \r\n\r\n"));
	CHECK(!strcmp(encode_response("HTTP/1.1 304 x\r\nContent-Length: 7\r\n"
				      "\r\n",
				      0),
		      "HTTP/1.1 304 x\r\nContent-Length: 7\r\n\r\n"));
	CHECK(!strcmp(encode_response("HTTP/1.1 101 x\r\nUpgrade: a\r\n"
				      "Connection: upgrade\r\n\r\n",
				      HTTP1_UPGRADE),
		      "HTTP/1.1 101 x\r\nUpgrade: a\r\n"
		      "Connection: Upgrade\r\n\r\n"));
}

/* Whoever changes a head before it goes on can add and remove. */
static void changed_heads_are_written(void)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a.com\r\n"
				   "Authorization: mine\r\nX: y\r\n\r\n";
	char arena[64];
	int len;

	REQUIRE(http1_request_parse(text, sizeof(text) - 1, &request,
				    &problem) == 0);
	http_fields_use_arena(&request.fields, arena, sizeof(arena));
	CHECK(http_fields_remove(&request.fields, "authorization") == 1);
	CHECK(http_fields_add_copy(&request.fields, span_of("Authorization"),
				   span_of("Bearer other")) == 0);
	len = http1_request_encode(&request, 0, out, sizeof(out) - 1);
	REQUIRE(len > 0);
	out[len] = '\0';
	CHECK(!strcmp(out, "GET / HTTP/1.1\r\nHost: a.com\r\nX: y\r\n"
			   "Authorization: Bearer other\r\n\r\n"));
}

static void too_little_room_is_told(void)
{
	static const char text[] = "POST / HTTP/1.1\r\nHost: a.com\r\nX: y\r\n"
				   "Content-Length: 10\r\n"
				   "Connection: close\r\n\r\n";
	char *small;

	REQUIRE(http1_request_parse(text, sizeof(text) - 1, &request,
				    &problem) == 0);
	for (size_t size = 0; size < sizeof(text) - 1; size++) {
		small = malloc(size ? size : 1);
		CHECK(http1_request_encode(&request, HTTP1_CLOSE, small, size) <
		      0);
		free(small);
	}
	CHECK(http1_request_encode(&request, HTTP1_CLOSE, out,
				   sizeof(text) - 1) == sizeof(text) - 1);
	CHECK(!memcmp(out, text, sizeof(text) - 1));
}

static void chunks_are_written(void)
{
	static struct http_fields trailers;

	CHECK(http1_chunk_head_encode(0x1a2b, out, sizeof(out)) == 6);
	CHECK(!memcmp(out, "1a2b\r\n", 6));
	CHECK(http1_chunk_head_encode(SIZE_MAX, out, HTTP1_CHUNK_HEAD_MAX) ==
	      18);
	CHECK(http1_chunk_head_encode(1, out, 2) < 0);
	CHECK(http1_last_chunk_encode(NULL, out, sizeof(out)) == 5);
	CHECK(!memcmp(out, "0\r\n\r\n", 5));
	http_fields_init(&trailers);
	CHECK(http_fields_add(&trailers, span_of("A"), span_of("b")) == 0);
	CHECK(http1_last_chunk_encode(&trailers, out, sizeof(out)) == 11);
	CHECK(!memcmp(out, "0\r\nA: b\r\n\r\n", 11));
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static const char *pick(const char *const *choices, size_t count)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return choices[random_state % count];
}

#define PICK(choices) pick(choices, sizeof(choices) / sizeof((choices)[0]))

static const char *const some_fields[] = {
	"Accept: */*\r\n",
	"X:\r\n",
	"x-b:c  \r\n",
	"Connection: close\r\n",
	"Connection: keep-alive, X\r\n",
	"Connection: upgrade, te\r\n",
	"Upgrade: websocket\r\n",
	"TE: trailers\r\n",
	"Keep-Alive: 3\r\n",
	"Content-Length: 0\r\n",
	"Content-Length: 12345\r\n",
	"Transfer-Encoding: chunked\r\n",
	"Expect: 100-continue\r\n",
	"Cookie: a=b; c=\"d\"\r\n",
	"X-Bytes: \xc3\xa4\t\xff\r\n",
	"Trailer: X\r\n",
	"HTTP2-Settings: q\r\n",
};

/* Random heads of these parts: what is taken survives being written again. */
static void accepted_requests_survive(void)
{
	static const char *const methods[] = {
		"GET", "HEAD", "POST", "OPTIONS", "CONNECT", "PROPFIND"
	};
	static const char *const targets[] = { "/",
					       "/a?b=c&d",
					       "*",
					       "a.com:443",
					       "http://a.com",
					       "https://A.com./x",
					       "[::1]:22",
					       "http://[::ffff:1.2.3.4]:8/" };
	static const char *const hosts[] = { "Host: a.com\r\n", "",
					     "host:A.COM.:443\r\n",
					     "Host: [::1]:22\r\n",
					     "Host: 1.2.3.4:8\r\n" };
	static const char *const versions[] = { "HTTP/1.1", "HTTP/1.0" };
	size_t accepted = 0;
	char text[1024];

	for (int i = 0; i < 50000; i++) {
		snprintf(text, sizeof(text), "%s %s %s\r\n%s%s%s%s\r\n",
			 PICK(methods), PICK(targets), PICK(versions),
			 PICK(some_fields), PICK(hosts), PICK(some_fields),
			 PICK(some_fields));
		if (http1_request_parse(text, strlen(text), &request,
					&problem) < 0 ||
		    !request.has_authority)
			continue;
		accepted++;
		if (!http_request_survives(&request))
			printf("# %s\n", text);
		CHECK(http_request_survives(&request));
	}
	printf("# %zu of 50000\n", accepted);
	CHECK(accepted > 5000);
}

static void accepted_responses_survive(void)
{
	static const char *const lines[] = {
		"HTTP/1.1 200 OK",      "HTTP/1.0 200",    "HTTP/1.1 204 ",
		"HTTP/1.1 304 Not so",  "HTTP/1.1 100 Go", "HTTP/1.1 101 Up",
		"HTTP/1.1 426 Upgrade", "HTTP/1.1 502 x",
	};
	static const enum http_method asked[] = { HTTP_METHOD_OTHER,
						  HTTP_METHOD_HEAD,
						  HTTP_METHOD_CONNECT };
	size_t accepted = 0;
	char text[1024];

	for (int i = 0; i < 50000; i++) {
		snprintf(text, sizeof(text), "%s\r\n%s%s%s\r\n", PICK(lines),
			 PICK(some_fields), PICK(some_fields),
			 PICK(some_fields));
		if (http1_response_parse(text, strlen(text), asked[i % 3],
					 &response, &problem) < 0)
			continue;
		accepted++;
		if (!http_response_survives(&response, asked[i % 3]))
			printf("# %s\n", text);
		CHECK(http_response_survives(&response, asked[i % 3]));
	}
	printf("# %zu of 50000\n", accepted);
	CHECK(accepted > 5000);
}

int main(void)
{
	RUN(requests_are_written_from_their_meaning);
	RUN(responses_are_written_from_their_meaning);
	RUN(changed_heads_are_written);
	RUN(too_little_room_is_told);
	RUN(chunks_are_written);
	RUN(accepted_requests_survive);
	RUN(accepted_responses_survive);
	return DONE();
}
