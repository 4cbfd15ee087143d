/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_challenge.c - WWW-Authenticate
 */
#include "oci/challenge.h"

#include "lib/tap.h"

static struct challenge got;

static void parse(const char *text)
{
	challenge_parse(text, strlen(text), &got);
}

static void a_token_server_is_found(void)
{
	parse("Bearer realm=\"https://auth.example.org/token\",service=\"r\","
	      "scope=\"repository:a/b:pull,push\"");
	CHECK(got.scheme == CHALLENGE_BEARER);
	CHECK(!strcmp(got.realm, "https://auth.example.org/token"));
	CHECK(!strcmp(got.service, "r"));
	CHECK(!strcmp(got.scope, "repository:a/b:pull,push"));
	parse("bearer  Realm = https://x/y , service=z");
	CHECK(got.scheme == CHALLENGE_BEARER);
	CHECK(!strcmp(got.realm, "https://x/y") && !strcmp(got.service, "z"));
	parse("Bearer realm=\"a\\\"b\"");
	CHECK(!strcmp(got.realm, "a\"b"));
}

static void bearer_is_preferred_and_unknown_ones_are_passed_over(void)
{
	parse("Basic realm=\"x\"");
	CHECK(got.scheme == CHALLENGE_BASIC);
	parse("Basic");
	CHECK(got.scheme == CHALLENGE_BASIC);
	parse("Basic realm=\"x\", Bearer realm=\"https://y\"");
	CHECK(got.scheme == CHALLENGE_BEARER);
	CHECK(!strcmp(got.realm, "https://y"));
	parse("Bearer realm=\"https://y\", Basic realm=\"x\"");
	CHECK(got.scheme == CHALLENGE_BEARER);
	parse("Digest realm=\"x\", nonce=\"y\", Basic realm=\"z\"");
	CHECK(got.scheme == CHALLENGE_BASIC);
	parse("Negotiate, Basic realm=\"z\"");
	CHECK(got.scheme == CHALLENGE_BASIC);
	parse("Digest realm=\"x\"");
	CHECK(got.scheme == CHALLENGE_NONE);
}

static void malformed_ones_are_unknown(void)
{
	static const char *const rows[] = {
		"",
		",,,",
		"Bearer",
		"Bearer realm=\"\"",
		"Bearer realm=\"unclosed",
		"Bearer realm=\"x\\",
		"Bearer realm=\"a\nb\"",
		"Bearer realm=\"a\",realm=\"b\"",
		"Bearer realm=\"\xc3\xa4\"",
		"=\"x\"",
		"\"x\"",
	};
	char text[3000];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i]);
		CHECK(got.scheme == CHALLENGE_NONE);
	}
	memset(text, 'a', sizeof(text));
	memcpy(text, "Bearer realm=", 13);
	challenge_parse(text, sizeof(text), &got);
	CHECK(got.scheme == CHALLENGE_NONE);
	memset(text, 'a', sizeof(text));
	challenge_parse(text, sizeof(text), &got);
	CHECK(got.scheme == CHALLENGE_NONE);
}

static void every_cut_is_harmless(void)
{
	const char text[] = "Digest a=b, Bearer realm=\"https://a.b/c\","
			    "service=\"s\",scope=\"x:y\"";

	for (size_t len = 0; len < sizeof(text); len++) {
		char *exact = malloc(len ? len : 1);

		memcpy(exact, text, len);
		challenge_parse(exact, len, &got);
		CHECK(got.scheme == CHALLENGE_NONE ||
		      !strcmp(got.realm, "https://a.b/c"));
		free(exact);
	}
}

int main(void)
{
	RUN(a_token_server_is_found);
	RUN(bearer_is_preferred_and_unknown_ones_are_passed_over);
	RUN(malformed_ones_are_unknown);
	RUN(every_cut_is_harmless);
	return DONE();
}
