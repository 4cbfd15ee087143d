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

static const char service_text[] = "{\"services\": [" SERVICE(
	"a", ", \"token_endpoints\": [\"t.test/x\"]") ", " SERVICE("b",
								   "") "]}";

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
		STORE(LOGIN("\"id_token\": " PAIR(VALUE, HOLDER "p"))),
		STORE(LOGIN("\"id_token\": " PAIR("short", "shorp"))),
		STORE(LOGIN("\"id_token\": 1")),
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
	agents = logins_for(services, own, "robot");
	CHECK(json_array_size(agents) == 1);
	none = logins_for(services, own, "shell");
	CHECK(json_array_size(none) == 0);
	CHECK(logins_expect(own, "a") == 1 && logins_expect(own, "a") == 0);
	expected = logins_for(services, own, NULL);
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

int main(void)
{
	services = services_parse(service_text, strlen(service_text), NULL);
	if (!services)
		return 1;
	RUN(a_store_with_other_logins_is_refused);
	RUN(logins_are_the_agents_or_expected);
	RUN(the_access_token_is_bound_without_a_variable);
	RUN(tokens_are_of_a_service_with_an_endpoint);
	json_decref(services);
	return DONE();
}
