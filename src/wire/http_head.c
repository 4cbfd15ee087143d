/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_head.c - what a request or response says, whichever version carried it
 */
#include "wire/http_head.h"

bool http_method_is_valid(struct span method)
{
	for (size_t i = 0; i < method.len; i++) {
		char c = method.bytes[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '_')
			return false;
	}
	return method.len > 0 && method.len <= HTTP_METHOD_MAX;
}

enum http_method http_method_kind(struct span method)
{
	if (span_is(method, "HEAD"))
		return HTTP_METHOD_HEAD;
	if (span_is(method, "CONNECT"))
		return HTTP_METHOD_CONNECT;
	return HTTP_METHOD_OTHER;
}
