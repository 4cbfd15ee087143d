/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_reply.c - answers of our own to a client that speaks HTTP
 */
#include "net/http_reply.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "net/decision.h"
#include "net/target.h"

static const struct {
	unsigned status;
	const char *reason;
} reasons[] = {
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 408, "Request Timeout" },
	{ 414, "URI Too Long" },
	{ 417, "Expectation Failed" },
	{ 426, "Upgrade Required" },
	{ 431, "Request Header Fields Too Large" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *reason_of(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Error";
}

void http_reply_make(struct http_reply *reply, unsigned status,
		     const char *text)
{
	struct http_response *response = &reply->response;

	(void)text_format(reply->text, sizeof(reply->text), "bawn: %s\n", text);
	reply->len = strlen(reply->text);
	memset(response, 0, offsetof(struct http_response, fields));
	response->status = (uint16_t)status;
	response->reason = span_of(reason_of(status));
	response->minor = 1;
	response->keep_alive = true;
	response->body = (struct http_body){ .kind = HTTP_BODY_LENGTH,
					     .has_length = true,
					     .length = reply->len };
	http_fields_init(&response->fields);
	(void)http_fields_add(&response->fields, span_of("Content-Type"),
			      span_of("text/plain; charset=utf-8"));
	(void)http_fields_add(&response->fields, span_of("Cache-Control"),
			      span_of("no-store"));
}

#define PATH_SHOWN_MAX 1024

/* Nothing that a shell, a rule or a terminal would take for something else. */
static bool is_tame(const char *text, const char *others)
{
	for (; *text; text++) {
		if (!(*text >= 'A' && *text <= 'Z') && !strchr(others, *text))
			return false;
	}
	return true;
}

/* The smallest rule that would do; a guest chose method and path. */
static void suggest(const struct http_reply_blocked *what, const char *host,
		    char *out, size_t size)
{
	static const char usual[] =
		"abcdefghijklmnopqrstuvwxyz0123456789/-._~+=@:";
	const char *path = what->path;

	if (!what->method || !is_tame(what->method, "")) {
		(void)text_format(out, size, "%s", host);
		return;
	}
	if (!path || path[0] != '/' || strlen(path) > PATH_SHOWN_MAX ||
	    !is_tame(path, usual))
		path = "";
	(void)text_format(out, size, "%s %s%s", what->method, host, path);
}

void http_reply_blocked(char *out, size_t size,
			const struct http_reply_blocked *what)
{
	const struct decision *decision = what->decision;
	char host[AUTHORITY_TEXT_SIZE];
	char rule[AUTHORITY_TEXT_SIZE + HTTP_METHOD_MAX + PATH_SHOWN_MAX + 2];

	target_format(what->target, host);
	suggest(what, host, rule, sizeof(rule));
	if (what->reason)
		(void)text_format(
			out, size,
			"%s is blocked for sandbox %s: %s.\n"
			"To allow it, run on the host: bawn policy allow %s "
			"'%s'",
			host, what->sandbox, what->reason, what->sandbox, rule);
	else if (decision->by_default || !decision->rule)
		(void)text_format(
			out, size,
			"%s is blocked: no rule of sandbox %s allows %s.\n"
			"To allow it, run on the host: bawn policy allow %s "
			"'%s'",
			host, what->sandbox,
			what->method ? "this request" : "it", what->sandbox,
			rule);
	else
		(void)text_format(
			out, size,
			"%s is blocked for sandbox %s by the rule `%s` (%s).\n"
			"Deny beats allow: see `bawn policy ls %s` on the "
			"host.",
			host, what->sandbox, decision->rule,
			policy_scope_name(decision->scope), what->sandbox);
}
