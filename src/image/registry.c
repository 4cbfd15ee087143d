/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - one repository of one registry: requests that succeed in the
 * end, or say why not
 */
#include "image/registry_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/registry_url.h"

#define HUB_HOST "registry-1.docker.io" /* who answers for docker.io */
#define REDIRECTS_MAX 8
#define LOGINS_MAX 4
#define STEP_MS 100
/* Who sends so little before each failure is not getting anywhere. */
#define PROGRESS_BYTES (64u * 1024)
#define TOTAL_ATTEMPTS_MAX 200
#define UNREACHABLE_ATTEMPTS 3
#define PAUSE_MAX_MS 30000u

struct registry *registry_new(const struct registry_place *place,
			      const struct registry_settings *settings,
			      const char *action, struct error *err)
{
	struct registry *registry = xcalloc(1, sizeof(*registry));

	registry->place = *place;
	registry->settings = *settings;
	registry->plain = place->http && reference_is_loopback(place->host);
	registry->plain_is_known =
		place->http || !reference_is_loopback(place->host);
	text_copy(registry->action, sizeof(registry->action), action);
	if (strcmp(place->host, REFERENCE_DEFAULT_HOST) == 0)
		text_copy(registry->place.host, sizeof(registry->place.host),
			  HUB_HOST);
	registry->http = http_new(&settings->limits, place->ca, err);
	registry->http_tokens =
		registry->http ? http_new(&settings->limits, place->ca, err)
			       : NULL;
	if (!registry->http_tokens) {
		registry_free(registry);
		return NULL;
	}
	return registry;
}

void registry_free(struct registry *registry)
{
	if (!registry)
		return;
	http_free(registry->http);
	http_free(registry->http_tokens);
	explicit_bzero(registry, sizeof(*registry));
	free(registry);
}

const char *registry_host(const struct registry *registry)
{
	return registry->place.host;
}

enum registry_verdict registry_verdict(const struct registry *registry)
{
	return registry->verdict;
}

static void write_url(const struct registry *registry, const char *tail,
		      char url[HTTP_URL_MAX])
{
	text_format(url, HTTP_URL_MAX, "%s://%s/v2/%s/%s",
		    registry->plain ? "http" : "https", registry->place.host,
		    registry->place.repository, tail);
}

void registry_call_init(struct registry *registry, struct registry_call *call,
			const char *method, const char *fmt, ...)
{
	AUTO_FREE char *tail = xcalloc(1, HTTP_URL_MAX);
	va_list args;

	memset(call, 0, sizeof(*call));
	call->registry = registry;
	call->method = method;
	call->body_fd = -1;
	call->trusted = true;
	va_start(args, fmt);
	vsnprintf(tail, HTTP_URL_MAX, fmt, args);
	va_end(args);
	write_url(registry, tail, call->url);
	text_copy(call->at, sizeof(call->at), call->url);
}

int registry_call_to(struct registry *registry, struct registry_call *call,
		     const char *location, struct error *err)
{
	char from[HTTP_URL_MAX];
	bool same;

	write_url(registry, "", from);
	if (registry_url_join(from, location, call->url, &same, err) < 0)
		return error_prefix(err, "%s", registry->place.host);
	call->trusted = same;
	text_copy(call->at, sizeof(call->at), call->url);
	return 0;
}

/* ---- what becomes of an answer ---- */

static void over(struct registry_call *call, enum registry_verdict verdict)
{
	call->state = REGISTRY_CALL_OVER;
	call->verdict = verdict;
	if (verdict != REGISTRY_DONE)
		error_prefix(&call->error, "%s", call->registry->place.host);
}

/* From the beginning, and at once. */
static void go_again(struct registry_call *call)
{
	text_copy(call->at, sizeof(call->at), call->url);
	call->redirects = 0;
	call->wake_ms = 0;
	call->state = REGISTRY_CALL_WAITING;
}

/* err is what will be said if this was once too often. */
static void try_later(struct registry_call *call, unsigned retry_after_s,
		      enum registry_verdict verdict)
{
	const struct registry_settings *settings = &call->registry->settings;
	uint64_t pause = settings->back_off_ms;
	unsigned limit = settings->attempts;

	if (call->received >= call->progress + PROGRESS_BYTES) {
		call->progress = call->received;
		call->attempts = 0;
	}
	/* a name that is not known now will not be known in a second */
	if (verdict == REGISTRY_UNREACHABLE && limit > UNREACHABLE_ATTEMPTS)
		limit = UNREACHABLE_ATTEMPTS;
	if (call->once || ++call->attempts >= limit ||
	    ++call->total_attempts >= TOTAL_ATTEMPTS_MAX) {
		over(call, verdict);
		return;
	}
	for (unsigned i = 1; i < call->attempts && pause < PAUSE_MAX_MS; i++)
		pause *= 2;
	/* those that failed together should not come back together */
	pause += pause * (loop_now_ms() % 8) / 16;
	if (retry_after_s && pause < 1000ull * retry_after_s)
		pause = 1000ull * retry_after_s;
	go_again(call);
	call->wake_ms =
		loop_now_ms() + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
}

static void answer_challenge(struct registry_call *call,
			     const struct http_response *response)
{
	struct registry *registry = call->registry;
	enum registry_verdict verdict;
	struct error own = { 0 };

	/* somebody else got a new token meanwhile */
	if (call->token_number != registry->token_number) {
		go_again(call);
		return;
	}
	if (call->logins++ >= LOGINS_MAX) {
		error_set(&call->error, 0, "it refuses its own tokens");
		over(call, REGISTRY_DENIED);
		return;
	}
	if (registry_auth_answer(registry, &response->challenge, &verdict,
				 &own) == 0) {
		go_again(call);
		return;
	}
	call->error = own;
	if (verdict == REGISTRY_UNREACHABLE)
		try_later(call, 0, verdict);
	else
		over(call, verdict);
}

static void follow(struct registry_call *call,
		   const struct http_response *response)
{
	char to[HTTP_URL_MAX];
	bool same;

	if (++call->redirects > REDIRECTS_MAX) {
		error_set(&call->error, 0, "it sends us in circles");
		over(call, REGISTRY_FAILED);
		return;
	}
	if (registry_url_join(call->at, response->location, to, &same,
			      &call->error) < 0) {
		over(call, REGISTRY_FAILED);
		return;
	}
	/* once away, a way back to the registry is not its own any more */
	call->trusted = call->trusted && same;
	text_copy(call->at, sizeof(call->at), to);
	call->wake_ms = 0;
	call->state = REGISTRY_CALL_WAITING;
}

static void complete(struct registry_call *call,
		     const struct http_response *response)
{
	int result = 0;

	/* an empty answer has not begun yet */
	if (call->sink && !call->begun)
		result = call->sink->begin(call->ctx, 0, &call->error);
	if (call->sink && result == 0)
		result = call->sink->complete(call->ctx, &call->error);
	call->response = *response;
	if (result == 0)
		over(call, REGISTRY_DONE);
	else if (result > 0)
		try_later(call, 0, REGISTRY_FAILED);
	else
		over(call, REGISTRY_FAILED);
}

/* 416: what we have is longer than what there is. */
static bool begin_anew(struct registry_call *call)
{
	return call->sink && call->sink->have && call->sink->have(call->ctx) &&
	       call->sink->begin(call->ctx, 0, &call->error) == 0;
}

static void refuse(struct registry_call *call,
		   const struct http_response *response)
{
	int status = response->status;
	char said[200];

	registry_answer_refusal(response->body, response->body_len, said,
				sizeof(said));
	error_set(&call->error, 0, "it answers %d%s%s", status,
		  said[0] ? ": " : "", said);
	if (status == 404 && call->missing_is_fine) {
		call->response = *response;
		over(call, REGISTRY_DONE);
	} else if (status == 416 && begin_anew(call))
		try_later(call, 0, REGISTRY_FAILED);
	else if (status == 404)
		over(call, REGISTRY_MISSING);
	else if (status == 401 || status == 403)
		over(call, REGISTRY_DENIED);
	else if (status == 429 || status == 408 || status >= 500)
		try_later(call, response->retry_after_s, REGISTRY_FAILED);
	else
		over(call, REGISTRY_FAILED);
}

static void on_failure(struct registry_call *call,
		       const struct http_response *response)
{
	struct registry *registry = call->registry;
	char reason[200];

	/* the sink has said why */
	if (response->failure == HTTP_STOPPED) {
		over(call, REGISTRY_FAILED);
		return;
	}
	if (response->failure == HTTP_NO_TLS && !registry->plain_is_known)
		registry->plain = registry->plain_is_known = true;
	/* it, or another call before it, has found out */
	if (response->failure == HTTP_NO_TLS && registry->plain &&
	    text_starts(call->url, "https://")) {
		memmove(call->url + 4, call->url + 5, strlen(call->url + 4));
		go_again(call);
		return;
	}
	text_printable(response->reason, strlen(response->reason), reason,
		       sizeof(reason));
	error_set(&call->error, 0, "%s", reason);
	if (response->failure == HTTP_UNTRUSTED)
		over(call, REGISTRY_FAILED);
	else
		try_later(call, 0,
			  response->failure == HTTP_UNREACHABLE
				  ? REGISTRY_UNREACHABLE
				  : REGISTRY_FAILED);
}

static void on_done(void *ctx, const struct http_response *response)
{
	struct registry_call *call = ctx;
	int status = response->status;

	if (response->failure != HTTP_FINE) {
		on_failure(call, response);
		return;
	}
	call->registry->plain_is_known = true;
	if (status >= 200 && status < 300)
		complete(call, response);
	else if (status >= 300 && status < 400 && response->location[0])
		follow(call, response);
	else if (status == 401 && call->trusted)
		answer_challenge(call, response);
	else
		refuse(call, response);
}

static int on_data(void *ctx, const struct http_response *head,
		   const void *bytes, size_t len)
{
	struct registry_call *call = ctx;

	if (!call->sink)
		return 0;
	if (!call->begun) {
		uint64_t from = head->status == 206 && head->has_range
					? head->range_from
					: 0;

		/* a part that nobody asked for is of no use */
		if (head->status == 206 && !head->has_range)
			return error_set(&call->error, 0,
					 "it sends a part without saying "
					 "which");
		if (call->sink->begin(call->ctx, from, &call->error) < 0)
			return -1;
		call->begun = true;
	}
	call->received += len;
	return call->sink->data(call->ctx, bytes, len, &call->error);
}

static int start(struct registry_call *call, struct error *err)
{
	struct registry *registry = call->registry;
	const struct login *login = &registry->place.login;
	struct http_request request = {
		.method = call->method,
		.url = call->at,
		.accept = call->accept,
		.content_type = call->content_type,
		.body = call->body,
		.body_fd = call->body_fd,
		.body_len = call->body_len,
		.sent = &call->sent,
		.small = call->small,
		.sink = on_data,
		.done = on_done,
		.ctx = call,
	};

	call->begun = false;
	call->token_number = registry->token_number;
	if (call->trusted && registry->auth == REGISTRY_BEARER)
		request.bearer = registry->token;
	if (call->trusted && registry->auth == REGISTRY_BASIC) {
		request.user = login->user;
		request.password = login->secret;
	}
	if (call->sink && call->sink->have)
		request.range_from = call->sink->have(call->ctx);
	call->state = REGISTRY_CALL_RUNNING;
	return http_start(registry->http, &request, err);
}

/* ---- all of them ---- */

/* The number that is not over; those that may begin do. -1 on failure. */
static int advance(struct registry *registry, struct registry_call *calls,
		   size_t count, uint64_t *next_wake_ms, struct error *err)
{
	uint64_t now = loop_now_ms();
	unsigned running = 0;
	int left = 0;

	*next_wake_ms = UINT64_MAX;
	for (size_t i = 0; i < count; i++)
		running += calls[i].state == REGISTRY_CALL_RUNNING;
	for (size_t i = 0; i < count; i++) {
		struct registry_call *call = &calls[i];

		if (call->state == REGISTRY_CALL_OVER) {
			if (call->verdict == REGISTRY_DONE)
				continue;
			registry->verdict = call->verdict;
			*err = call->error;
			return -1;
		}
		left++;
		if (call->state != REGISTRY_CALL_WAITING)
			continue;
		if (call->wake_ms > now) {
			if (call->wake_ms < *next_wake_ms)
				*next_wake_ms = call->wake_ms;
		} else if (running < registry->settings.parallel) {
			running++;
			if (start(call, err) < 0)
				return -1;
		}
	}
	return left;
}

int registry_run(struct registry *registry, struct registry_call *calls,
		 size_t count, registry_tick_fn *tick, void *ctx,
		 struct error *err)
{
	int left;

	registry->verdict = REGISTRY_FAILED;
	for (;;) {
		uint64_t wake_ms, now;
		unsigned wait_ms = STEP_MS;

		left = advance(registry, calls, count, &wake_ms, err);
		if (left <= 0)
			break;
		now = loop_now_ms();
		if (wake_ms <= now)
			wait_ms = 1;
		else if (wake_ms - now < wait_ms)
			wait_ms = (unsigned)(wake_ms - now);
		if (http_step(registry->http, wait_ms, err) < 0) {
			left = -1;
			break;
		}
		if (tick)
			tick(ctx);
	}
	http_cancel(registry->http);
	if (left == 0)
		registry->verdict = REGISTRY_DONE;
	return left;
}
