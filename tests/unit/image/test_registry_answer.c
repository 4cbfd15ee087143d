/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registry_answer.c - tokens and refusals
 */
#include "image/registry_answer.h"

#include "base/error.h"
#include "lib/tap.h"

static char token[REGISTRY_TOKEN_MAX];
static struct error err;

static int take(const char *text)
{
	return registry_answer_token(text, strlen(text), token, &err);
}

static void tokens_are_taken_by_both_names(void)
{
	CHECK(take("{\"token\":\"a.b-c\"}") == 0 && !strcmp(token, "a.b-c"));
	CHECK(take("{\"access_token\":\"x\"}") == 0 && !strcmp(token, "x"));
	CHECK(take("{\"token\":\"\",\"access_token\":\"y\"}") == 0);
	CHECK(!strcmp(token, "y"));
}

static void what_could_end_a_header_is_no_token(void)
{
	const char text[] = "{\"token\":\"abc\"}";

	CHECK(take("{\"token\":\"a\\r\\nX: y\"}") < 0);
	CHECK(take("{\"token\":\"a b\"}") < 0);
	CHECK(take("{\"token\":\"\xc3\xa4\"}") < 0);
	CHECK(take("{\"token\":7}") < 0);
	CHECK(take("[]") < 0 && take("") < 0);
	for (size_t len = 0; len + 1 < sizeof(text); len++)
		CHECK(registry_answer_token(text, len, token, &err) < 0);
}

static void refusals_are_made_printable(void)
{
	const char *text = "{\"errors\":[{\"code\":\"C\",\"message\":"
			   "\"no\\u001b[31m way\"}]}";
	char shown[64];

	registry_answer_refusal(text, strlen(text), shown, sizeof(shown));
	CHECK(strstr(shown, "no") && !strchr(shown, '\033'));
	text = "{\"errors\":[{\"code\":\"DENIED\"}]}";
	registry_answer_refusal(text, strlen(text), shown, sizeof(shown));
	CHECK(!strcmp(shown, "DENIED"));
	registry_answer_refusal("<html>", 6, shown, sizeof(shown));
	CHECK(!shown[0]);
}

int main(void)
{
	RUN(tokens_are_taken_by_both_names);
	RUN(what_could_end_a_header_is_no_token);
	RUN(refusals_are_made_printable);
	return DONE();
}
