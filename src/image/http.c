/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - requests to registries, several at a time, on one thread
 */
#include "image/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/http_header.h"

#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"
#define CA_BYTES_MAX (4u << 20)
#define BUFFER_BYTES (256L * 1024)
#define STALL_BYTES_PER_SECOND 128L
#define REFUSAL_BYTES_MAX (256u * 1024) /* read and dropped, then cut off */

struct http {
	CURLM *multi;      /* owned */
	struct list calls; /* all that are under way */
	struct http_limits limits;
	struct buffer ca; /* certificates; empty: the system's, from its file */
};

struct call {
	struct list link;
	CURL *easy;                 /* owned */
	struct curl_slist *headers; /* owned */
	struct http_request request;
	struct http_response response;
	uint64_t sent; /* of the body */
	size_t refusal_bytes;
	bool stopped; /* by the sink */
};

static void call_free(struct call *call)
{
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->headers);
	free(call);
}

/*
 * Those of the system and these: a registry with a certificate of its own may
 * send us to a store that has a public one. Read now, while we may.
 */
static int read_ca(struct buffer *ca, const char *file, struct error *err)
{
	if (fileio_read(AT_FDCWD, SYSTEM_CA, ca, NULL) < 0)
		buffer_consume(ca, ca->len);
	else
		buffer_append(ca, "\n", 1);
	return fileio_read(AT_FDCWD, file, ca, err);
}

struct http *http_new(const struct http_limits *limits, const char *ca_file,
		      struct error *err)
{
	struct http *http;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		error_set(err, 0, "libcurl cannot start");
		return NULL;
	}
	http = xcalloc(1, sizeof(*http));
	list_init(&http->calls);
	http->multi = curl_multi_init();
	if (!http->multi)
		abort();
	http->limits = *limits;
	buffer_init(&http->ca, CA_BYTES_MAX);
	if (ca_file && *ca_file && read_ca(&http->ca, ca_file, err) < 0) {
		http_free(http);
		return NULL;
	}
	return http;
}

static void call_end(struct http *http, struct call *call)
{
	curl_multi_remove_handle(http->multi, call->easy);
	list_remove(&call->link);
	call_free(call);
}

void http_cancel(struct http *http)
{
	while (!list_empty(&http->calls))
		call_end(http, LIST_ENTRY(http->calls.next, struct call, link));
}

void http_free(struct http *http)
{
	if (!http)
		return;
	http_cancel(http);
	curl_multi_cleanup(http->multi);
	buffer_release(&http->ca);
	free(http);
	curl_global_cleanup();
}

/* ---- what comes ---- */

static size_t on_header(char *bytes, size_t one, size_t len, void *ctx)
{
	struct call *call = ctx;

	http_header_take(bytes, len, &call->response);
	return len;
}

static size_t on_data(char *bytes, size_t one, size_t len, void *ctx)
{
	struct call *call = ctx;
	struct http_response *response = &call->response;
	size_t room = sizeof(response->body) - response->body_len;
	long status = 0;

	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	response->status = (int)status;
	if (status >= 200 && status < 300) {
		if (call->request.sink &&
		    call->request.sink(call->request.ctx, response, bytes,
				       len) == 0)
			return len;
		call->stopped = call->request.sink != NULL;
		return call->stopped ? 0 : len;
	}
	memcpy(response->body + response->body_len, bytes,
	       len < room ? len : room);
	response->body_len += len < room ? len : room;
	call->refusal_bytes += len;
	return call->refusal_bytes > REFUSAL_BYTES_MAX ? 0 : len;
}

/* ---- what goes ---- */

static size_t on_body(char *to, size_t one, size_t max, void *ctx)
{
	struct call *call = ctx;
	uint64_t left = call->request.body_len - call->sent;
	ssize_t got;

	if (call->request.sent)
		*call->request.sent = call->sent;
	if (max > left)
		max = (size_t)left;
	if (call->request.body_fd < 0) {
		memcpy(to, (const char *)call->request.body + call->sent, max);
		call->sent += max;
		return max;
	}
	got = pread(call->request.body_fd, to, max, (off_t)call->sent);
	if (got < 0 || (got == 0 && max > 0))
		return CURL_READFUNC_ABORT;
	call->sent += (size_t)got;
	return (size_t)got;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
	struct call *call = ctx;

	if (origin != SEEK_SET || offset < 0 ||
	    (uint64_t)offset > call->request.body_len)
		return CURL_SEEKFUNC_CANTSEEK;
	call->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void add_header(struct call *call, const char *name, const char *value)
{
	AUTO_FREE char *line = xasprintf("%s: %s", name, value);

	call->headers = curl_slist_append(call->headers, line);
	if (!call->headers)
		abort();
}

static void add_headers(struct call *call)
{
	const struct http_request *request = &call->request;

	for (size_t i = 0; request->accept && request->accept[i]; i++)
		add_header(call, "Accept", request->accept[i]);
	if (request->bearer) {
		AUTO_FREE char *value = xasprintf("Bearer %s", request->bearer);

		add_header(call, "Authorization", value);
	}
	if (request->content_type)
		add_header(call, "Content-Type", request->content_type);
	/* no round trip before a body */
	call->headers = curl_slist_append(call->headers, "Expect:");
	curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_body(struct call *call)
{
	const struct http_request *request = &call->request;
	CURL *easy = call->easy;
	bool put = strcmp(request->method, "PUT") == 0;

	if (strcmp(request->method, "HEAD") == 0)
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	if (!put && strcmp(request->method, "POST") != 0)
		return;
	curl_easy_setopt(easy, put ? CURLOPT_UPLOAD : CURLOPT_POST, 1L);
	curl_easy_setopt(easy,
			 put ? CURLOPT_INFILESIZE_LARGE
			     : CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)request->body_len);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_READDATA, call);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
}

static void set_limits(struct http *http, struct call *call)
{
	CURL *easy = call->easy;
	long stall_s = (long)(http->limits.stall_ms + 999) / 1000;

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)http->limits.connect_ms);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_PER_SECOND);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall_s);
	if (call->request.small)
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
				 (long)http->limits.small_ms);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
	if (http->ca.len) {
		struct curl_blob ca = { http->ca.data, http->ca.len,
					CURL_BLOB_NOCOPY };

		curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &ca);
	}
}

static void set_callbacks(struct call *call)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->response.reason);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
}

static void set_login(struct call *call)
{
	const struct http_request *request = &call->request;

	if (!request->user)
		return;
	curl_easy_setopt(call->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	curl_easy_setopt(call->easy, CURLOPT_USERNAME, request->user);
	curl_easy_setopt(call->easy, CURLOPT_PASSWORD, request->password);
}

int http_start(struct http *http, const struct http_request *request,
	       struct error *err)
{
	struct call *call = xcalloc(1, sizeof(*call));

	call->easy = curl_easy_init();
	if (!call->easy)
		abort();
	call->request = *request;
	if (curl_easy_setopt(call->easy, CURLOPT_URL, request->url) !=
	    CURLE_OK) {
		call_free(call);
		return error_set(err, 0, "an address is malformed");
	}
	set_limits(http, call);
	set_callbacks(call);
	set_login(call);
	set_body(call);
	add_headers(call);
	if (request->range_from) {
		char range[32];

		text_format(range, sizeof(range), "%llu-",
			    (unsigned long long)request->range_from);
		curl_easy_setopt(call->easy, CURLOPT_RANGE, range);
	}
	if (curl_multi_add_handle(http->multi, call->easy) != CURLM_OK)
		abort();
	list_append(&http->calls, &call->link);
	return 0;
}

/* ---- ends ---- */

static enum http_failure failure_of(CURLcode code, const struct call *call)
{
	if (call->stopped)
		return HTTP_STOPPED;
	switch (code) {
	case CURLE_OK:
		return HTTP_FINE;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		return HTTP_UNREACHABLE;
	case CURLE_SSL_CONNECT_ERROR:
		return HTTP_NO_TLS;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return HTTP_UNTRUSTED;
	case CURLE_OPERATION_TIMEDOUT:
		return call->response.status ? HTTP_BROKEN : HTTP_UNREACHABLE;
	default:
		return HTTP_BROKEN;
	}
}

static void finish(struct http *http, struct call *call, CURLcode code)
{
	struct http_response *response = &call->response;
	long status = 0;

	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	response->status = (int)status;
	/* the rest of a refusal's words is not a failure */
	if (call->refusal_bytes > REFUSAL_BYTES_MAX)
		code = CURLE_OK;
	response->failure = failure_of(code, call);
	if (response->failure != HTTP_FINE && !response->reason[0])
		text_copy(response->reason, sizeof(response->reason),
			  curl_easy_strerror(code));
	call->request.done(call->request.ctx, response);
	call_end(http, call);
}

int http_step(struct http *http, unsigned wait_ms, struct error *err)
{
	int running = 0, queued = 0;
	CURLMcode code = curl_multi_perform(http->multi, &running);
	CURLMsg *message;

	if (code != CURLM_OK)
		return error_set(err, 0, "%s", curl_multi_strerror(code));
	message = curl_multi_info_read(http->multi, &queued);
	if (!message) {
		curl_multi_poll(http->multi, NULL, 0, (int)wait_ms, NULL);
		return 0;
	}
	while (message) {
		struct call *call = NULL;
		CURLcode result = message->data.result;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
				  &call);
		finish(http, call, result);
		message = curl_multi_info_read(http->multi, &queued);
	}
	return 0;
}
