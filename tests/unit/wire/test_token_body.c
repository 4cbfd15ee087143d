/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_token_body.c - bodies of requests to a token endpoint and its answers
 */
#include "wire/token_body.h"

#include "base/own.h"
#include "lib/tap.h"

#define JSON                                                         \
	"{\"token_type\": \"Bearer\", \"access_token\":\"sk-A\" ,\n" \
	" \"expires_in\": 28800, \"account\": {\"access_token\": "   \
	"\"no\", \"a\": [1, {\"b\": null}]}, \"refresh_token\": \"r\"}"
#define FORM "access_token=gho_x&scope=repo%2Cgist&token_type=bearer"

static const char *found(enum token_body_kind kind, const char *body,
			 const char *name)
{
	static char text[128];
	struct span value;

	if (token_body_find(kind, span_of(body), name, &value) < 0)
		return "refused";
	memcpy(text, value.bytes, value.len);
	text[value.len] = '\0';
	return text;
}

static bool json(const char *body, const char *wanted)
{
	const char *got = found(TOKEN_BODY_JSON, body, "t");

	if (strcmp(got, wanted))
		printf("# %s: %s\n", body, got);
	return !strcmp(got, wanted);
}

static void fields_of_both_kinds_are_found(void)
{
	CHECK(!strcmp(found(TOKEN_BODY_JSON, JSON, "access_token"), "sk-A"));
	CHECK(!strcmp(found(TOKEN_BODY_JSON, JSON, "refresh_token"), "r"));
	CHECK(!strcmp(found(TOKEN_BODY_JSON, JSON, "id_token"), ""));
	CHECK(!strcmp(found(TOKEN_BODY_JSON, JSON, "expires_in"), ""));
	CHECK(!strcmp(found(TOKEN_BODY_FORM, FORM, "access_token"), "gho_x"));
	CHECK(!strcmp(found(TOKEN_BODY_FORM, FORM, "token_type"), "bearer"));
	CHECK(!strcmp(found(TOKEN_BODY_FORM, FORM, "token"), ""));
}

static void what_could_be_read_otherwise_is_refused(void)
{
	CHECK(json("{\"t\":\"x\"}", "x"));
	CHECK(json("{}", ""));
	CHECK(json("{\"t\":\"x\",\"t\":\"y\"}", "refused"));
	CHECK(json("{\"t\":1,\"t\":\"y\"}", "refused"));
	CHECK(json("{\"\\u0074\":\"x\"}", "refused"));
	CHECK(json("{\"t\":\"\\u0078\"}", "refused"));
	CHECK(json("{\"u\":\"\\u0078\"}", ""));
	CHECK(json("[\"t\"]", "refused"));
	CHECK(json("\"t\"", "refused"));
	CHECK(json("{\"t\":\"x\"} {\"t\":\"y\"}", "refused"));
	CHECK(json("{\"t\":\"x\",}", "refused"));
	CHECK(json("{\"t\" \"x\"}", "refused"));
	CHECK(json("{\"a\":[},\"t\":\"x\"}", "refused"));
	CHECK(json("{\"t\":\"x\ny\"}", "refused"));
	CHECK(json("", "refused"));
	CHECK(!strcmp(found(TOKEN_BODY_FORM, "t=x&t=y", "t"), "refused"));
	CHECK(!strcmp(found(TOKEN_BODY_FORM, "%74=x", "t"), "refused"));
	CHECK(!strcmp(found(TOKEN_BODY_FORM, "t", "t"), "refused"));
	CHECK(!strcmp(found(TOKEN_BODY_OTHER, FORM, "t"), "refused"));
}

static void a_deep_body_is_refused(void)
{
	static char text[256] = "{\"a\":";

	for (int i = 0; i < 40; i++)
		text[5 + i] = '[';
	CHECK(json(text, "refused"));
}

static void a_body_cut_anywhere_is_refused(void)
{
	struct span value;

	for (size_t len = 0; len < strlen(JSON); len++) {
		AUTO_FREE char *text = strndup(JSON, len);

		CHECK(token_body_find(TOKEN_BODY_JSON, span_over(text, len),
				      "access_token", &value) < 0);
	}
}

static void the_kind_is_what_the_header_says(void)
{
	CHECK(token_body_kind(span_of("application/json")) == TOKEN_BODY_JSON);
	CHECK(token_body_kind(span_of("Application/JSON; charset=utf-8")) ==
	      TOKEN_BODY_JSON);
	CHECK(token_body_kind(span_of("application/jsonp")) ==
	      TOKEN_BODY_OTHER);
	CHECK(token_body_kind(span_of("application/x-www-form-urlencoded")) ==
	      TOKEN_BODY_FORM);
	CHECK(token_body_kind(span_of("text/html")) == TOKEN_BODY_OTHER);
	CHECK(token_body_kind(span_of("")) == TOKEN_BODY_OTHER);
}

#define RANDOM "abcdefghijklmnopqrstuvwxyz0123456789"

static void tokens_keep_their_shape(void)
{
	CHECK(token_shown(span_of("sk-ant-oat01-" RANDOM)) == 13);
	CHECK(token_shown(span_of("gho_" RANDOM)) == 4);
	CHECK(token_shown(span_of(RANDOM)) == 0);
	CHECK(token_shown(span_of("eyJh.eyJi." RANDOM)) == 10);
	CHECK(token_shown(span_of("eyJh.eyJi.short")) == 0);
	CHECK(token_is_plain(span_of("sk-ant-oat01-" RANDOM)));
	CHECK(!token_is_plain(span_of("short")));
	CHECK(!token_is_plain(span_of(RANDOM "+")));
	CHECK(!token_is_plain(span_of(RANDOM " ")));
	CHECK(!token_is_plain(span_over(RANDOM, sizeof(RANDOM))));
}

static int64_t number(const char *body)
{
	return token_body_number(TOKEN_BODY_JSON, span_of(body), "t");
}

static void numbers_are_found(void)
{
	CHECK(token_body_number(TOKEN_BODY_JSON, span_of(JSON), "expires_in") ==
	      28800);
	CHECK(token_body_number(TOKEN_BODY_JSON, span_of(JSON), "account") ==
	      0);
	CHECK(token_body_number(TOKEN_BODY_FORM, span_of("t=60&u=1"), "t") ==
	      60);
	CHECK(number("{\"t\": 3600}") == 3600);
	CHECK(number("{\"t\": \"3600\"}") == 3600);
	CHECK(number("{\"t\": -1}") == 0);
	CHECK(number("{\"t\": 1.5}") == 0);
	CHECK(number("{\"t\": 1e9}") == 0);
	CHECK(number("{\"t\": 9999999999999}") == 0);
	CHECK(number("{\"t\": null}") == 0);
	CHECK(number("{\"t\": 1, \"t\": 2}") == 0);
	CHECK(number("{\"t\": 1") == 0);
	CHECK(number("{}") == 0);
}

/* {"exp":1800000000,"a":"?>"}: with a byte that base64url writes otherwise */
#define JWT "eyJhIjoxfQ.eyJleHAiOjE4MDAwMDAwMDAsImEiOiI_PiJ9."

static void a_jwt_says_when_it_ends(void)
{
	static const char jwt[] = JWT RANDOM;

	CHECK(token_expires(span_of(jwt)) == 1800000000);
	CHECK(token_expires(span_of("eyJhIjoxfQ.!!!!." RANDOM)) == 0);
	CHECK(token_expires(span_of("eyJhIjoxfQ.e30." RANDOM)) == 0);
	CHECK(token_expires(span_of("eyJhIjoxfQ.." RANDOM)) == 0);
	CHECK(token_expires(span_of("sk-ant-oat01-" RANDOM)) == 0);
	CHECK(token_expires(span_of("")) == 0);
	/* What is cut in its middle says nothing else. */
	for (size_t len = 0; len < strlen(jwt); len++) {
		AUTO_FREE char *text = strndup(jwt, len);
		int64_t found = token_expires(span_over(text, len));

		CHECK(found == 0 || (found == 1800000000 &&
				     len >= strlen(JWT) + TOKEN_HIDDEN_MIN));
	}
}

int main(void)
{
	RUN(numbers_are_found);
	RUN(a_jwt_says_when_it_ends);
	RUN(fields_of_both_kinds_are_found);
	RUN(what_could_be_read_otherwise_is_refused);
	RUN(a_deep_body_is_refused);
	RUN(a_body_cut_anywhere_is_refused);
	RUN(the_kind_is_what_the_header_says);
	RUN(tokens_keep_their_shape);
	return DONE();
}
