/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - requests to registries, several at a time, on one thread
 *
 * libcurl does TLS, HTTP and proxies; what a registry may cause is decided by
 * the caller. Redirects are not followed here, nothing is repeated here, and
 * no byte over a limit is taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oci/challenge.h"
#include "oci/digest_name.h"

struct error;
struct http;

#define HTTP_URL_MAX 4096
#define HTTP_ERROR_BODY_MAX 2048

struct http_limits {
	unsigned connect_ms; /* for a connection */
	unsigned stall_ms;   /* without STALL_BYTES_PER_SECOND */
	unsigned small_ms;   /* for a whole document */
};

enum http_failure {
	HTTP_FINE,
	HTTP_UNREACHABLE, /* no such host, no connection, no answer */
	HTTP_NO_TLS,      /* the other side does not speak it */
	HTTP_UNTRUSTED,   /* its certificate is not to be believed */
	HTTP_BROKEN,      /* it ended too early, stalled, or made no sense */
	HTTP_STOPPED,     /* by our own sink */
};

struct http_response {
	enum http_failure failure;
	char reason[256]; /* of the failure */
	int status;       /* 0 when none came */
	char location[HTTP_URL_MAX];
	char content_type[128];
	char digest[DIGEST_NAME_MAX]; /* Docker-Content-Digest */
	struct challenge challenge;
	bool has_range;
	uint64_t range_from; /* Content-Range */
	unsigned retry_after_s;
	/* what a refusal said; printable is another matter */
	char body[HTTP_ERROR_BODY_MAX];
	size_t body_len;
};

/* Bytes of a good answer (2xx); -1 stops it, with the reason kept by ctx. */
typedef int http_sink_fn(void *ctx, const struct http_response *head,
			 const void *bytes, size_t len);
typedef void http_done_fn(void *ctx, const struct http_response *response);

struct http_request {
	const char *method;          /* GET, HEAD, POST, PUT */
	const char *url;             /* copied */
	const char *const *accept;   /* NULL-terminated, or NULL */
	const char *bearer;          /* a token, or NULL; copied */
	const char *user, *password; /* Basic, or NULL; copied */
	uint64_t range_from;         /* 0: from the start */
	/* a body: bytes (borrowed until done), or a part of a file */
	const char *content_type;
	const void *body;
	int body_fd; /* -1: none */
	uint64_t body_len;
	uint64_t *sent; /* counts them; or NULL */
	bool small;     /* a document: it has to be over within small_ms */
	http_sink_fn *sink;
	http_done_fn *done; /* may start other requests */
	void *ctx;
};

/* ca_file: NULL for the system's. All that opens files is done here. */
struct http *http_new(const struct http_limits *limits, const char *ca_file,
		      struct error *err);
void http_free(struct http *http);
/* The answer comes to request->done, from http_step(). */
int http_start(struct http *http, const struct http_request *request,
	       struct error *err);
/* What is under way ends without an answer. */
void http_cancel(struct http *http);
/* Waits at most wait_ms for something to happen, and lets it happen. */
int http_step(struct http *http, unsigned wait_ms, struct error *err);
