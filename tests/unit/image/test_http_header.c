/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_header.c - lines before a registry's answer
 */
#include "image/http_header.h"

#include "image/http.h"
#include "lib/tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct http_response response;

static void take(const char *line)
{
	http_header_take(line, strlen(line), &response);
}

static void what_counts_is_taken(void)
{
	memset(&response, 0, sizeof(response));
	take("HTTP/1.1 200 OK\r\n");
	take("location:  /x/y \r\n");
	take("Content-Type: application/json ; charset=utf-8\r\n");
	take("DOCKER-CONTENT-DIGEST: sha256:" HEX "\r\n");
	take("Content-Range: bytes 5-9/10\r\n");
	take("Retry-After: 7\r\n");
	take("WWW-Authenticate: Basic realm=\"x\"\r\n");
	take("WWW-Authenticate: Bearer realm=\"https://y\"\r\n");
	CHECK(!strcmp(response.location, "/x/y"));
	CHECK(!strcmp(response.content_type, "application/json"));
	CHECK(!strcmp(response.digest, "sha256:" HEX));
	CHECK(response.has_range && response.range_from == 5);
	CHECK(response.retry_after_s == 7);
	CHECK(response.challenge.scheme == CHALLENGE_BEARER);
}

static void an_interim_answer_is_forgotten(void)
{
	memset(&response, 0, sizeof(response));
	take("HTTP/1.1 103 Early Hints\r\n");
	take("Location: /old\r\n");
	take("WWW-Authenticate: Basic\r\n");
	take("HTTP/1.1 200 OK\r\n");
	CHECK(!response.location[0]);
	CHECK(response.challenge.scheme == CHALLENGE_NONE);
}

static void what_is_malformed_is_not_said(void)
{
	static char longest[HTTP_URL_MAX + 64];

	memset(&response, 0, sizeof(response));
	take("Docker-Content-Digest: sha256:zz\r\n");
	take("Content-Range: bytes */10\r\n");
	take("Content-Range: items 1-2/3\r\n");
	take("Content-Range: bytes 99999999999999999999-1/2\r\n");
	take("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n");
	take("Retry-After: 99999999\r\n");
	take("no colon");
	take(":");
	take("");
	http_header_take("Location: a\0b", 13, &response);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "Location: ", 10);
	http_header_take(longest, sizeof(longest), &response);
	CHECK(!response.digest[0] && !response.has_range);
	CHECK(!response.retry_after_s && !response.location[0]);
}

int main(void)
{
	RUN(what_counts_is_taken);
	RUN(an_interim_answer_is_forgotten);
	RUN(what_is_malformed_is_not_said);
	return DONE();
}
