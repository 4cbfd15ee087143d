/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_logins.c - tokens of logins that a guest made, kept on the host
 */
#include "state/logins.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/secret_bindings.h"
#include "state/secret_store.h"
#include "state/services.h"

AUTO_DEFINE(json, json_t *, json_decref)

#define SERVICE(name, more)                                              \
	"{\"name\": \"" name "\", \"hosts\": [\"h.test\"], \"agents\": " \
	"[\"robot\"], \"headers\": [{\"name\": \"x\", \"format\": "      \
	"\"%s\"}], \"variables\": [\"V\"], \"placeholder\": "            \
	"{\"prefix\": \"p-\", \"length\": 40}" more "}"
#define VALUE "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"
#define HOLDER "pppppppppppppppppppppppppppppp"
#define STORE(logins)                                                        \
	"{\"version\": 1, \"secrets\": [], \"placeholders\": {}, \"logins\"" \
	": " logins "}"
#define LOGIN(tokens) "{\"a\": {\"set\": 1, \"tokens\": {" tokens "}}}"
#define PAIR(value, holder) \
	"{\"value\": \"" value "\", \"placeholder\": \"" holder "\"}"

#define RENEW(endpoint, type, fields)                                       \
	", \"token_endpoints\": [\"t.test/x\"], \"renew\": {\"endpoint\": " \
	"\"" endpoint "\", \"type\": \"" type "\", \"fields\": " fields "}"

static const char service_text[] = "{\"services\": [" SERVICE(
	"a", RENEW("t.test/x", "json", "{}")) ", " SERVICE("b", "") "]}";

static json_t *services;

static json_t *parse(const char *text)
{
	return secret_store_parse(text, strlen(text), NULL);
}

static void a_store_with_other_logins_is_refused(void)
{
	static const char *const bad[] = {
		STORE("[]"),
		STORE("{\"a\": 1}"),
		STORE("{\"A\": {\"set\": 1, \"tokens\": {}}}"),
		STORE("{\"a\": {\"tokens\": {}}}"),
		STORE(LOGIN("\"other\": " PAIR(VALUE, HOLDER))),
		STORE(LOGIN("\"id_token\": " PAIR(VALUE, VALUE))),
		STORE(LOGIN("\"id_token\": " PAIR("short", "shorp"))),
		STORE(LOGIN("\"id_token\": 1")),
		STORE("{\"a\": {\"set\": 1, \"tokens\": {}, \"expires\": "
		      "\"x\"}}"),
		STORE("{\"a\": {\"set\": 1, \"tokens\": {}, \"refused\": "
		      "true}}"),
		STORE("{\"a\": {\"set\": 1, \"tokens\": {}, \"all\": true}}"),
		STORE("{\"a\": {\"set\": 1, \"tokens\": {}, \"scope\": 1}}"),
		STORE("{\"a\": {\"set\": 1, \"tokens\": {}, \"scope\": "
		      "\"\"}}"),
		STORE("{\"a\": {\"set\": 1, \"tokens\": {}, \"scope\": "
		      "\"a\\\"b\"}}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(json) json_t *store = parse(bad[i]);

		if (store)
			printf("# taken: %s\n", bad[i]);
		CHECK(!store);
	}
}

static void logins_are_the_agents_or_expected(void)
{
	AUTO(json) json_t *own = parse(STORE("{}"));
	AUTO(json) json_t *agents = NULL, *none = NULL, *expected = NULL;

	REQUIRE(own);
	agents = logins_for(services, NULL, own, "robot");
	CHECK(json_array_size(agents) == 1);
	none = logins_for(services, NULL, own, "shell");
	CHECK(json_array_size(none) == 0);
	CHECK(logins_expect(own, "a") == 1 && logins_expect(own, "a") == 0);
	expected = logins_for(services, NULL, own, NULL);
	CHECK(json_array_size(expected) == 1);
	CHECK(logins_remove(own, "a") == 1 && logins_remove(own, "a") == 0);
	CHECK(!json_object_get(own, "logins"));
}

static void the_access_token_is_bound_without_a_variable(void)
{
	AUTO(json)
	json_t *own =
		parse(STORE(LOGIN("\"access_token\": " PAIR(VALUE, HOLDER))));
	AUTO(json) json_t *list = NULL;
	const json_t *one;

	REQUIRE(own);
	list = secret_bindings_make(services, NULL, own, NULL);
	CHECK(secret_bindings_fill(list, services, own) == 0);
	one = json_array_get(list, 0);
	REQUIRE(one);
	CHECK(!strcmp(json_string_value(json_object_get(one, "value")), VALUE));
	CHECK(!strcmp(json_string_value(json_object_get(one, "placeholder")),
		      HOLDER));
	CHECK(json_array_size(json_object_get(one, "variables")) == 0);
	CHECK(json_array_size(json_object_get(one, "hosts")) == 1);
}

static void tokens_are_of_a_service_with_an_endpoint(void)
{
	AUTO(json) json_t *own = parse(STORE("{}"));
	AUTO(json)
	json_t *tokens = json_pack("[{s:s, s:s, s:s}]", "field", "id_token",
				   "placeholder", HOLDER, "value", VALUE);
	AUTO(json) json_t *none = json_array();

	CHECK(logins_put(own, services, "b", tokens, NULL) < 0);
	CHECK(logins_put(own, services, "c", tokens, NULL) < 0);
	CHECK(logins_put(own, services, "a", none, NULL) < 0);
	CHECK(logins_put(own, services, "a", tokens, NULL) == 0);
}

static void how_to_renew_is_plain_and_at_an_endpoint(void)
{
	static const char *const texts[] = {
		SERVICE("a", RENEW("t.test/x", "json", "{\"c\": \"me_1:x\"}")),
		SERVICE("a", RENEW("t.test/x", "form", "{}")),
		SERVICE("a", RENEW("t.test/x", "json", "{}, \"scope\": true")),
		SERVICE("a", RENEW("t.test/x", "json", "{}, \"scope\": 1")),
		SERVICE("a", RENEW("other.test/x", "json", "{}")),
		SERVICE("a", RENEW("t.test/x", "xml", "{}")),
		SERVICE("a", RENEW("t.test/x", "json", "[]")),
		SERVICE("a", RENEW("t.test/x", "json", "{\"c\": 1}")),
		SERVICE("a", RENEW("t.test/x", "json", "{\"c\": \"a\\\"b\"}")),
		SERVICE("a", RENEW("t.test/x", "form", "{\"c\": \"a&b=c\"}")),
		SERVICE("a", RENEW("t.test/x", "form", "{\"c d\": \"a\"}")),
		SERVICE("a", ", \"renew\": {\"endpoint\": \"t.test/x\", "
			     "\"type\": \"json\", \"fields\": {}}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char text[1024];
		AUTO(json) json_t *list = NULL;

		snprintf(text, sizeof(text), "{\"services\": [%s]}", texts[i]);
		list = services_parse(text, strlen(text), NULL);
		if (!list != (i >= 3))
			printf("# %s\n", texts[i]);
		CHECK(!list == (i >= 3));
	}
}

#define MADE                                                           \
	STORE(LOGIN("\"access_token\": " PAIR(                         \
		VALUE, HOLDER) ", \"refresh_token\": " PAIR(VALUE "r", \
							    HOLDER)))

static void a_login_ends_is_renewed_or_refused(void)
{
	AUTO(json) json_t *own = parse(MADE);
	AUTO(json)
	json_t *tokens = json_pack("[{s:s, s:s, s:s}]", "field", "access_token",
				   "placeholder", HOLDER, "value", VALUE "2");
	AUTO(json) json_t *list = NULL, *later = NULL;
	const json_t *login;

	REQUIRE(own);
	login = logins_of(own, "a");
	CHECK(login_is_made(login) && login_is_renewable(login));
	logins_set_expiry(own, "a", 77);
	CHECK(logins_refuse(own, "a") == 1 && logins_refuse(own, "a") == 0);
	CHECK(logins_refuse(own, "b") == 0);
	CHECK(!login_is_renewable(login));
	list = logins_for(services, NULL, own, NULL);
	CHECK(json_integer_value(json_object_get(json_array_get(list, 0),
						 "expires")) == 77);
	CHECK(json_is_true(
		json_object_get(json_array_get(list, 0), "refused")));
	CHECK(json_object_get(json_array_get(list, 0), "renew"));
	/* New tokens: what was said of the old ones is void. */
	CHECK(logins_put(own, services, "a", tokens, NULL) == 0);
	CHECK(login_is_renewable(login) && !json_object_get(login, "expires"));
	logins_set_expiry(own, "a", 0);
	later = logins_for(services, NULL, own, NULL);
	CHECK(json_array_size(json_object_get(json_array_get(later, 0),
					      "tokens")) == 2);
}

static void what_was_granted_is_told(void)
{
	AUTO(json) json_t *own = parse(MADE);
	AUTO(json) json_t *list = NULL;
	const json_t *login;

	REQUIRE(own);
	login = logins_of(own, "a");
	logins_set_scope(own, "a", "user:a b");
	list = logins_for(services, NULL, own, NULL);
	CHECK(!strcmp(json_string_value(json_object_get(json_array_get(list, 0),
							"scope")),
		      "user:a b"));
	logins_set_scope(own, "a", "with\nmore");
	CHECK(!json_object_get(login, "scope"));
	logins_set_scope(own, "a", "x");
	logins_set_scope(own, "a", NULL);
	CHECK(!json_object_get(login, "scope"));
}

static void a_service_says_where_its_key_never_stands(void)
{
	static const char text[] = "{\"services\": [" SERVICE(
		"a", ", \"except\": [\"/keys/**\"]") "]}";
	static const char bad[] =
		"{\"services\": [" SERVICE("a", ", \"except\": \"/keys\"") "]}";
	static const char *const odd[] = {
		SERVICE("a", ", \"questions\": [\"/ask {}\"]"),
		SERVICE("a", ", \"questions\": [\"/ask\"]"),
		SERVICE("a", ", \"questions\": [\"ask {}\"]"),
		SERVICE("a", ", \"questions\": [\"/ask \"]"),
		SERVICE("a", ", \"questions\": [1]"),
	};
	AUTO(json) json_t *list = services_parse(text, strlen(text), NULL);
	AUTO(json) json_t *none = services_parse(bad, strlen(bad), NULL);
	AUTO(json) json_t *own = parse(MADE);
	AUTO(json) json_t *bindings = NULL;

	REQUIRE(list && own);
	CHECK(!none);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		char whole[1024];
		AUTO(json) json_t *asked = NULL;

		snprintf(whole, sizeof(whole), "{\"services\": [%s]}", odd[i]);
		asked = services_parse(whole, strlen(whole), NULL);
		CHECK(!asked == (i > 0));
	}
	bindings = secret_bindings_make(list, NULL, own, NULL);
	CHECK(json_array_size(json_object_get(json_array_get(bindings, 0),
					      "except")) == 1);
}

static void a_login_of_all_is_told_as_a_secret(void)
{
	AUTO(json) json_t *all = parse(MADE);
	AUTO(json) json_t *own = parse(STORE("{}"));
	AUTO(json) json_t *list = NULL, *logins = NULL;
	const json_t *one;

	REQUIRE(all && own);
	list = secret_bindings_make(services, all, own, NULL);
	CHECK(secret_bindings_fill(list, services, own) == 1);
	one = json_array_get(list, 0);
	CHECK(!strcmp(json_string_value(json_object_get(one, "value")), VALUE));
	CHECK(strcmp(json_string_value(json_object_get(one, "placeholder")),
		     HOLDER) != 0);
	CHECK(json_array_size(json_object_get(one, "variables")) == 1);
	logins = logins_for(services, all, own, NULL);
	CHECK(json_array_size(json_object_get(json_array_get(logins, 0),
					      "tokens")) == 2);
	/* One that is waited for becomes theirs for a time. */
	logins_expect_for_all(own, "a", (int64_t)1 << 40);
	CHECK(login_is_for_all(logins_of(own, "a")));
	logins_expect_for_all(own, "a", 9);
	CHECK(!login_is_for_all(logins_of(own, "a")));
}

int main(void)
{
	services = services_parse(service_text, strlen(service_text), NULL);
	if (!services)
		return 1;
	RUN(a_store_with_other_logins_is_refused);
	RUN(logins_are_the_agents_or_expected);
	RUN(the_access_token_is_bound_without_a_variable);
	RUN(tokens_are_of_a_service_with_an_endpoint);
	RUN(how_to_renew_is_plain_and_at_an_endpoint);
	RUN(a_login_ends_is_renewed_or_refused);
	RUN(what_was_granted_is_told);
	RUN(a_service_says_where_its_key_never_stands);
	RUN(a_login_of_all_is_told_as_a_secret);
	json_decref(services);
	return DONE();
}
