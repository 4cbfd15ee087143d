/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peek.c - what protocol a client's first bytes begin
 */
#include "net/peek.h"

#include <string.h>

#define SSH_LINE_MAX 255

/*
 * "SSH-...\r\n". A line that also is a request to some server is none.
 */
static enum peek_result ssh_or_http(const char *bytes, size_t len)
{
	static const char begin[] = "SSH-";
	size_t known = len < sizeof(begin) - 1 ? len : sizeof(begin) - 1;
	const char *end;

	if (memcmp(bytes, begin, known) != 0)
		return PEEK_HTTP;
	end = memchr(bytes, '\n', len < SSH_LINE_MAX ? len : SSH_LINE_MAX);
	if (!end)
		return len < SSH_LINE_MAX ? PEEK_MORE : PEEK_HTTP;
	return memmem(bytes, (size_t)(end - bytes), "HTTP/", 5) ? PEEK_HTTP
								: PEEK_SSH;
}

enum peek_result peek_parse(const void *bytes, size_t len,
			    struct client_hello *hello)
{
	switch (client_hello_parse(bytes, len, hello)) {
	case CLIENT_HELLO_MORE:
		return PEEK_MORE;
	case CLIENT_HELLO_DONE:
		return PEEK_TLS;
	case CLIENT_HELLO_NOT_TLS:
		return ssh_or_http(bytes, len);
	default:
		return PEEK_BAD;
	}
}
