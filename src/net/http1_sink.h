/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_sink.h - a body of HTTP/1 on its way out, chunked or as it is
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct end;
struct http_fields;

/* How many bytes of a body surely fit. */
size_t http1_sink_space(const struct end *end, bool chunked);
void http1_sink_body(struct end *end, bool chunked, const void *bytes,
		     size_t len);
/* With trailers, or none (NULL); of a body that is not chunked: nothing. */
void http1_sink_end(struct end *end, bool chunked,
		    const struct http_fields *trailers);
