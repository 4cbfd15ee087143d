/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew_host.c - the host's own renewal, and what becomes of it
 */
#include "net/renew_internal.h"

#include <jansson.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "net/config.h"
#include "net/gate.h"
#include "net/keys.h"
#include "net/login_answer.h"
#include "net/logins.h"
#include "net/renew_talk.h"

AUTO_DEFINE(json, json_t *, json_decref)

static void note(struct renewal *self, enum audit_verdict verdict,
		 const struct renew_answer *answer, const char *text)
{
	const struct login *login = renew_login(self->all->gate, self->name);
	char reason[256];
	const struct audit_record record = {
		.target = &self->target,
		.address = answer->address,
		.protocol = AUDIT_HTTPS,
		.verdict = verdict,
		.method = "POST",
		.path = login ? login->renew.path : NULL,
		.path_len = login && login->renew.path
				    ? strlen(login->renew.path)
				    : 0,
		.status = answer->status,
		.decision = &self->decision,
		.reason = reason,
		.started_ms = self->started_ms,
	};

	(void)text_format(reason, sizeof(reason), "login %s: %s", self->name,
			  text);
	audit_write(&self->all->gate->audit, &record);
	if (answer->problem)
		log_limited(LOG_LEVEL_WARN, "%s", reason);
}

void renew_fail(struct renewal *self, const struct renew_answer *answer,
		bool refused)
{
	struct renew_answer told = *answer;

	if (!told.problem)
		told.problem = "the token endpoint gives no new token";
	self->failures++;
	/* It was no rule: none would help. */
	note(self, AUDIT_ALLOW, &told,
	     refused ? "it is refused a new token, and has to be made again"
		     : told.problem);
	renew_give_up(self, refused);
}

static void keep(struct renewal *self, const struct renew_answer *answer)
{
	struct gate *gate = self->all->gate;
	const struct login *login = renew_login(gate, self->name);
	struct login_answer got = { .tokens = NULL };
	const char *problem =
		login ? login_answer_take(login, LOGIN_BY_HOST, answer->kind,
					  answer->body, &got)
		      : "it is gone";
	AUTO(json) json_t *tokens = got.tokens;
	const struct keys_tokens what = { .service = self->name,
					  .list = tokens,
					  .expires = got.expires,
					  .renewed = true,
					  .scope = got.scope };
	struct renew_answer told = *answer;

	if (!problem && !json_array_size(tokens))
		problem = "the answer has no token";
	if (!problem && keys_keep_tokens(&gate->keys, &what) < 0)
		problem = "the new tokens could not be kept";
	if (problem) {
		told.problem = problem;
		renew_fail(self, &told, false);
		return;
	}
	self->failures = 0;
	note(self, AUDIT_ALLOW, answer, "renewed by the host");
	renew_finish(self);
}

/* RFC 6749, 5.2: the token, or who asks with it, is no longer known. */
static bool is_final(const struct renew_answer *answer)
{
	static const char *const errors[] = {
		"invalid_grant",        "invalid_client",
		"unauthorized_client",  "refresh_token_expired",
		"refresh_token_reused", "refresh_token_invalidated"
	};
	struct span error;

	if (answer->status != 400 && answer->status != 401 &&
	    answer->status != 403)
		return false;
	/* Some say it inside an object, and mean it too. */
	if (token_body_find(answer->kind, answer->body, "error", &error) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (span_is(error, errors[i]))
			return true;
	}
	return answer->status == 401 && answer->kind == TOKEN_BODY_JSON;
}

static void on_answer(void *ctx, const struct renew_answer *answer)
{
	struct renewal *self = ctx;

	if (answer->problem)
		renew_fail(self, answer, false);
	else if (answer->status >= 200 && answer->status < 300)
		keep(self, answer);
	else
		renew_fail(self, answer, is_final(answer));
}

void renew_ask(struct renewal *self, const struct login *login)
{
	struct gate *gate = self->all->gate;
	struct renew_answer none = { 0 };

	self->state = RENEWAL_TALKS;
	self->tried_ms = self->started_ms = loop_now_ms();
	self->target = (struct target){ .name = xstrdup(login->renew.host),
					.port = login->renew.port };
	decision_of_request(gate->config->policy, &self->target, "POST",
			    login->renew.path, &self->decision);
	if (self->decision.answer == POLICY_DENY) {
		none.problem = "no rule allows its token endpoint";
		self->failures++;
		note(self, AUDIT_DENY, &none, none.problem);
		renew_give_up(self, false);
		return;
	}
	self->talk = renew_talk_start(gate, login, &self->target,
				      &self->decision, on_answer, self);
	if (self->talk)
		return;
	none.problem = "too many connections are being made";
	renew_fail(self, &none, false);
}
