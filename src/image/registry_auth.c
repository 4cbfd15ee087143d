/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_auth.c - logins and tokens of a registry
 *
 * A token server is asked with the login of the registry that named it. That
 * is the protocol: the registry decides who may see its own login. It gets no
 * other, and not without encryption.
 */
#include "image/registry_internal.h"

#include <curl/curl.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/registry_url.h"

#define ANSWER_MAX (64u * 1024)
#define CLIENT "bawn"
#define STEP_MS 1000

struct asking {
	struct buffer body;
	struct http_response response;
	bool over;
};

static int on_data(void *ctx, const struct http_response *head,
		   const void *bytes, size_t len)
{
	struct asking *asking = ctx;

	return buffer_append(&asking->body, bytes, len);
}

static void on_done(void *ctx, const struct http_response *response)
{
	struct asking *asking = ctx;

	asking->response = *response;
	asking->over = true;
}

static int refused(struct registry *registry, const struct asking *asking,
		   enum registry_verdict *verdict, struct error *err)
{
	const struct http_response *response = &asking->response;
	char said[160];

	if (response->failure != HTTP_FINE) {
		*verdict = response->failure == HTTP_UNREACHABLE
				   ? REGISTRY_UNREACHABLE
				   : REGISTRY_FAILED;
		text_printable(response->reason, strlen(response->reason), said,
			       sizeof(said));
		return error_set(err, 0, "its token server: %s", said);
	}
	registry_answer_refusal(response->body, response->body_len, said,
				sizeof(said));
	*verdict = response->status == 401 || response->status == 403
			   ? REGISTRY_DENIED
			   : REGISTRY_FAILED;
	return error_set(err, 0, "its token server refuses (%d%s%s)%s",
			 response->status, said[0] ? ": " : "", said,
			 *verdict == REGISTRY_DENIED &&
					 registry->place.login.kind
				 ? "; is the login still right?"
				 : "");
}

static int ask(struct registry *registry, const struct http_request *wanted,
	       enum registry_verdict *verdict, struct error *err)
{
	struct asking asking = { .body = BUFFER_INIT(ANSWER_MAX) };
	struct http_request request = *wanted;
	int result = -1;

	request.small = true;
	request.sink = on_data;
	request.done = on_done;
	request.ctx = &asking;
	if (http_start(registry->http_tokens, &request, err) < 0)
		return -1;
	while (!asking.over)
		if (http_step(registry->http_tokens, STEP_MS, err) < 0)
			break;
	if (asking.over && asking.response.failure == HTTP_FINE &&
	    asking.response.status == 200)
		result =
			registry_answer_token(asking.body.data, asking.body.len,
					      registry->token, err);
	else if (asking.over)
		result = refused(registry, &asking, verdict, err);
	http_cancel(registry->http_tokens);
	explicit_bzero(asking.body.data, asking.body.len);
	buffer_release(&asking.body);
	return result;
}

static void add_field(struct buffer *form, const char *key, const char *value)
{
	char *escaped = curl_easy_escape(NULL, value, 0);

	buffer_printf(form, "%s%s=%s", form->len ? "&" : "", key,
		      escaped ? escaped : "");
	curl_free(escaped);
}

/* An identity token is changed for a token by POST, as OAuth has it. */
static int ask_with_identity(struct registry *registry, const char *url,
			     const char *service, const char *scope,
			     enum registry_verdict *verdict, struct error *err)
{
	AUTO_BUFFER struct buffer form = BUFFER_INIT(4 * LOGIN_SECRET_MAX);
	struct http_request request = {
		.method = "POST",
		.url = url,
		.content_type = "application/x-www-form-urlencoded",
		.body_fd = -1,
	};
	int result;

	add_field(&form, "grant_type", "refresh_token");
	add_field(&form, "service", service);
	add_field(&form, "scope", scope);
	add_field(&form, "client_id", CLIENT);
	add_field(&form, "refresh_token", registry->place.login.secret);
	request.body = form.data;
	request.body_len = form.len;
	result = ask(registry, &request, verdict, err);
	explicit_bzero(form.data, form.len);
	return result;
}

static int fetch_token(struct registry *registry,
		       const struct challenge *challenge,
		       enum registry_verdict *verdict, struct error *err)
{
	const struct login *login = &registry->place.login;
	struct http_request request = { .method = "GET", .body_fd = -1 };
	AUTO_FREE char *url = xcalloc(1, HTTP_URL_MAX);
	AUTO_FREE char *scope =
		xasprintf("repository:%s:%s", registry->place.repository,
			  registry->action);
	AUTO_FREE char *from =
		xasprintf("%s://%s/", registry->plain ? "http" : "https",
			  registry->place.host);
	bool same;

	if (registry_url_join(from, challenge->realm, url, &same, err) < 0)
		return error_prefix(err, "its token server");
	if (login->kind == LOGIN_IDENTITY)
		return ask_with_identity(registry, url, challenge->service,
					 scope, verdict, err);
	if ((challenge->service[0] &&
	     registry_url_add(url, "service", challenge->service, err) < 0) ||
	    registry_url_add(url, "scope", scope, err) < 0 ||
	    (login->kind == LOGIN_PASSWORD &&
	     registry_url_add(url, "account", login->user, err) < 0))
		return -1;
	request.url = url;
	if (login->kind == LOGIN_PASSWORD) {
		request.user = login->user;
		request.password = login->secret;
	}
	return ask(registry, &request, verdict, err);
}

int registry_auth_answer(struct registry *registry,
			 const struct challenge *challenge,
			 enum registry_verdict *verdict, struct error *err)
{
	const struct login *login = &registry->place.login;

	*verdict = REGISTRY_DENIED;
	if (login->kind == LOGIN_TOKEN && registry->auth == REGISTRY_OPEN) {
		registry->auth = REGISTRY_BEARER;
		text_copy(registry->token, sizeof(registry->token),
			  login->secret);
		registry->token_number++;
		return 0;
	}
	if (challenge->scheme == CHALLENGE_BEARER &&
	    login->kind != LOGIN_TOKEN) {
		if (fetch_token(registry, challenge, verdict, err) < 0)
			return -1;
		registry->auth = REGISTRY_BEARER;
		registry->token_number++;
		return 0;
	}
	if (challenge->scheme == CHALLENGE_BASIC &&
	    login->kind == LOGIN_PASSWORD && registry->auth == REGISTRY_OPEN) {
		registry->auth = REGISTRY_BASIC;
		registry->token_number++;
		return 0;
	}
	return error_set(err, 0,
			 login->kind
				 ? "the login is not accepted"
				 : "it wants a login (`docker login` and the "
				   "like keep one that bawn uses)");
}
