/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_peek.c - what protocol a client's first bytes begin
 */
#include "net/peek.h"

#include "lib/tap.h"

static struct client_hello hello;

static enum peek_result peek(const char *text)
{
	return peek_parse(text, strlen(text), &hello);
}

static void http_is_whatever_is_nothing_else(void)
{
	CHECK(peek("GET / HTTP/1.1\r\n") == PEEK_HTTP);
	CHECK(peek("G") == PEEK_HTTP);
	CHECK(peek("get / http/1.0") == PEEK_HTTP);
	CHECK(peek("\r\nGET / HTTP/1.1\r\n") == PEEK_HTTP);
	CHECK(peek("PRI * HTTP/2.0\r\n\r\nSM") == PEEK_HTTP);
	CHECK(peek("EHLO me\r\n") == PEEK_HTTP);
}

static void ssh_is_known_by_its_line(void)
{
	static const char line[] = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";

	CHECK(peek(line) == PEEK_SSH);
	for (size_t len = 1; len < sizeof(line) - 1; len++)
		CHECK(peek_parse(line, len, &hello) == PEEK_MORE);
	CHECK(peek("SSH") == PEEK_MORE);
	CHECK(peek("SSX-") == PEEK_HTTP);
	CHECK(peek("S") == PEEK_MORE);
}

static void a_line_that_is_a_request_too_is_no_ssh(void)
{
	char line[400];

	CHECK(peek("SSH-2.0-x / HTTP/1.1\r\nHost: y\r\n\r\n") == PEEK_HTTP);
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "SSH-", 4);
	CHECK(peek(line) == PEEK_HTTP);
}

static void tls_is_not_mistaken(void)
{
	CHECK(peek_parse("\x16", 1, &hello) == PEEK_MORE);
	CHECK(peek_parse("\x16\x03\x01\x02\x00\x01", 6, &hello) == PEEK_MORE);
	CHECK(peek_parse("\x16\x03\x01\x00\x00", 5, &hello) == PEEK_BAD);
}

int main(void)
{
	RUN(http_is_whatever_is_nothing_else);
	RUN(ssh_is_known_by_its_line);
	RUN(a_line_that_is_a_request_too_is_no_ssh);
	RUN(tls_is_not_mistaken);
	return DONE();
}
