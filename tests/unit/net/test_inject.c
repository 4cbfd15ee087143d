/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_inject.c - unit tests of net/inject.h and net/bindings.h
 */
#include "net/inject.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "net/bindings.h"
#include "net/target.h"
#include "wire/http1_encode.h"
#include "wire/http1_head.h"

#define HOLDER "ph-0123456789abcdef"
#define OTHER "po-0123456789abcdef"
#define SECRET "sk-true+key/1"

static const char list_text[] =
	"{\"secrets\": [{\"name\": \"a\", \"placeholder\": \"" HOLDER "\", "
	"\"value\": \"" SECRET "\", \"why\": null, \"hosts\": "
	"[\"api.test\", \"*.sub.test\", \"odd.test:8443\"], \"headers\": "
	"[{\"name\": \"X-Key\", \"format\": \"%s\"}, {\"name\": "
	"\"authorization\", \"format\": \"Bearer %s\"}], \"query\": "
	"[\"key\"], \"methods\": [\"GET\", \"POST\"], \"paths\": "
	"[\"/v1/**\"], \"plain_http\": false}, "
	"{\"name\": \"b\", \"placeholder\": \"" OTHER "\", \"value\": null, "
	"\"why\": \"its command failed\", \"hosts\": [\"late.test\", "
	"\"git.test\"], \"headers\": [{\"name\": \"authorization\", "
	"\"format\": \"Basic base64(x:%s)\", \"hosts\": [\"git.test\"]}, "
	"{\"name\": \"x-late\", \"format\": \"%s\"}], \"query\": [], "
	"\"methods\": [], \"paths\": [], \"plain_http\": true}]}";

AUTO_DEFINE(bindings, struct bindings *, bindings_unref)

static struct bindings *parse(const char *text)
{
	struct error err = { 0 };
	struct bindings *list = bindings_parse(text, strlen(text), &err);

	if (!list)
		printf("# %s\n", err.text);
	return list;
}

static struct target api = { .name = (char *)"api.test", .port = 443 };

static const struct inject_facts good = {
	.target = &api,
	.encrypted = true,
	.verified = true,
	.names_agree = true,
	.method = "POST",
	.path = "/v1/x",
};

static void what_is_no_list_of_bindings_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"secrets\": {}}",
		"{\"secrets\": [{}]}",
		"{\"secrets\": [], \"x\": 1}",
	};
	static const char *const wrong[][2] = {
		{ "\"api.test\"", "\"1.2.3.4\"" },
		{ "\"api.test\"", "\"**\"" },
		{ "\"api.test\"", "\"localhost:80\"" },
		{ "\"api.test\"", "\"api.test/x\"" },
		{ "\"api.test\"", "\"a b\"" },
		{ "\"api.test\"", "\"a\\nallow\"" },
		{ "\"X-Key\"", "\"X Key\"" },
		{ "\"Bearer %s\"", "\"Bearer\"" },
		{ "\"Bearer %s\"", "\"%s%s\"" },
		{ "\"Bearer %s\"", "\"a\\r\\nb: %s\"" },
		{ "\"" SECRET "\"", "\"a b\"" },
		{ "\"" SECRET "\"", "\"a\\r\\nb\"" },
		{ "\"" SECRET "\"", "\"\"" },
		{ "\"" HOLDER "\"", "\"short\"" },
		{ "\"/v1/**\"", "\"/a b\"" },
		{ "\"GET\"", "\"GET x\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!bindings_parse(bad[i], strlen(bad[i]), NULL));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[2048] = "";
		const char *at = strstr(list_text, wrong[i][0]);

		REQUIRE(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - list_text),
			 list_text, wrong[i][1], at + strlen(wrong[i][0]));
		if (bindings_parse(text, strlen(text), NULL))
			printf("# taken: %s\n", wrong[i][1]);
		CHECK(!bindings_parse(text, strlen(text), NULL));
	}
	for (size_t len = 0; len < strlen(list_text); len++)
		CHECK(!bindings_parse(list_text, len, NULL));
}

static void each_condition_alone_refuses(void)
{
	AUTO(bindings) struct bindings *list = parse(list_text);
	struct target literal = { .address = { .family = 2 }, .port = 443 };
	struct target host = { .name = (char *)"api.test",
			       .port = 443,
			       .is_host = true };
	struct target other = { .name = (char *)"evil.test", .port = 443 };
	struct target deeper = { .name = (char *)"x.api.test", .port = 443 };
	struct target port = { .name = (char *)"api.test", .port = 8443 };
	struct inject_facts facts;
	const struct binding *a;

	REQUIRE(list);
	a = &list->list[0];
	CHECK(inject_may(a, &good) == NULL);
#define REFUSED(member, value)                        \
	do {                                          \
		facts = good;                         \
		facts.member = (value);               \
		CHECK(inject_may(a, &facts) != NULL); \
	} while (0)
	REFUSED(target, &literal);
	REFUSED(target, &host);
	REFUSED(target, &other);
	REFUSED(target, &deeper);
	REFUSED(target, &port);
	REFUSED(encrypted, false);
	REFUSED(verified, false);
	REFUSED(names_agree, false);
	REFUSED(bypassed, true);
	REFUSED(method, "DELETE");
	REFUSED(method, "post");
	REFUSED(path, "/v2/x");
	REFUSED(path, NULL);
	/* without a value, and on plain HTTP where somebody wanted that */
	facts = good;
	facts.target =
		&(struct target){ .name = (char *)"late.test", .port = 443 };
	CHECK(inject_may(&list->list[1], &facts) != NULL);
	facts.encrypted = facts.verified = false;
	CHECK(inject_may(&list->list[1], &facts) != NULL);
}

/* Who it is for and where it may go are told twice: neither does alone. */
static void a_host_that_is_not_bound_gets_nothing_by_any_rule(void)
{
	static const char elsewhere[] =
		"{\"secrets\": [{\"name\": \"a\", \"placeholder\": \"" HOLDER
		"\", \"value\": \"" SECRET "\", \"why\": null, \"hosts\": "
		"[\"evil.test\"], \"headers\": [{\"name\": \"X-Key\", "
		"\"format\": \"%s\"}], \"query\": [], \"methods\": [], "
		"\"paths\": [], \"plain_http\": false}]}";
	AUTO(bindings) struct bindings *list = parse(list_text);
	AUTO(bindings) struct bindings *other = parse(elsewhere);
	struct target evil = { .name = (char *)"evil.test", .port = 443 };
	struct inject_facts facts = good;
	struct binding mixed;

	REQUIRE(list && other);
	facts.target = &evil;
	CHECK(inject_may(&other->list[0], &facts) == NULL);
	mixed = list->list[0];
	mixed.where = other->list[0].where;
	CHECK(inject_may(&mixed, &facts) != NULL);
	mixed = other->list[0];
	mixed.where = list->list[0].where;
	CHECK(inject_may(&mixed, &facts) != NULL);
}

static void names_are_bound_as_rules_mean_them(void)
{
	AUTO(bindings) struct bindings *list = parse(list_text);

	REQUIRE(list);
	CHECK(bindings_have_host(list, "api.test", 443));
	CHECK(bindings_have_host(list, "x.sub.test", 443));
	CHECK(bindings_have_host(list, "odd.test", 8443));
	CHECK(!bindings_have_host(list, "odd.test", 443));
	CHECK(!bindings_have_host(list, "sub.test", 443));
	CHECK(!bindings_have_host(list, "x.y.sub.test", 443));
	CHECK(!bindings_have_host(list, "evilapi.test", 443));
	CHECK(!bindings_have_host(NULL, "api.test", 443));
}

/* What a server would get; "" when it is refused. */
static void send(const struct bindings *list, const struct inject_facts *facts,
		 const char *head, struct injection *injection, char *out,
		 size_t size)
{
	static char arena[INJECT_ARENA_SIZE];
	struct http_request request;
	struct http_problem problem;
	char text[4096];
	int len;

	out[0] = '\0';
	snprintf(text, sizeof(text), "%s\r\n", head);
	if (http1_request_parse(text, strlen(text), &request, &problem) < 0) {
		printf("# %s\n", problem.text);
		return;
	}
	if (inject_request(list, facts, &request, arena, injection) < 0)
		return;
	len = http1_request_encode(&request, 0, out, size - 1);
	out[len < 0 ? 0 : len] = '\0';
}

#define HEAD(target, fields)                                    \
	"POST " target " HTTP/1.1\r\nHost: api.test\r\n" fields \
	"Content-Length: 0\r\n"

/* "Basic " and base64 of "x:" HOLDER, and of "x:" SECRET */
#define BASIC_HOLDER "Basic eDpwaC0wMTIzNDU2Nzg5YWJjZGVm"
#define BASIC_SECRET "Basic eDpzay10cnVlK2tleS8x"

static const struct {
	const char *head;
	const char *has[2], *lacks[3];
} rows[] = {
	/* replaced where it stands */
	{ HEAD("/v1/x", "x-key: " HOLDER "\r\n"),
	  { "x-key: " SECRET "\r\n" },
	  { HOLDER } },
	{ HEAD("/v1/x", "Authorization: Bearer " HOLDER "\r\n"),
	  { "Authorization: Bearer " SECRET "\r\n" },
	  { HOLDER, "X-Key", "x-key" } },
	{ HEAD("/v1/x", "Authorization: " BASIC_HOLDER "\r\n"),
	  { "Authorization: " BASIC_SECRET "\r\n" },
	  { "x-key" } },
	/* added when it is missing */
	{ HEAD("/v1/x", ""), { "x-key: " SECRET "\r\n" }, { NULL } },
	/* foreign credentials go */
	{ HEAD("/v1/x", "X-KEY: sk-mine\r\n"),
	  { "x-key: " SECRET "\r\n" },
	  { "sk-mine" } },
	{ HEAD("/v1/x", "x-key: " HOLDER "\r\nX-Key: sk-mine\r\n"),
	  { "x-key: " SECRET "\r\n" },
	  { "sk-mine" } },
	{ HEAD("/v1/x", "x-key: " HOLDER "\r\nAuthorization: Bearer mine\r\n"
			"Cookie: session=mine\r\nApi-Key: mine\r\n"),
	  { SECRET },
	  { "mine", "Cookie", "Authorization" } },
	/* of two with one name the first counts */
	{ HEAD("/v1/x", "x-key: " HOLDER "\r\nX-Key: " HOLDER "\r\n"),
	  { "x-key: " SECRET "\r\n" },
	  { "X-Key" } },
	/* a placeholder twice is none */
	{ HEAD("/v1/x", "x-key: " HOLDER HOLDER "\r\n"),
	  { "x-key: " SECRET "\r\n" },
	  { HOLDER } },
	/* not in other headers, not in paths */
	{ HEAD("/v1/" HOLDER "?a=" HOLDER, "User-Agent: " HOLDER "\r\n"),
	  { "User-Agent: " HOLDER "\r\n", "/v1/" HOLDER "?a=" HOLDER },
	  { NULL } },
	/* the query's key, encoded or not; others' go */
	{ HEAD("/v1/x?a=1&key=" HOLDER "&b=2", ""),
	  { "/v1/x?a=1&key=sk-true%2Bkey%2F1&b=2" },
	  { "x-key" } },
	{ HEAD("/v1/x?k%65y=ph%2D0123456789abcdef", ""),
	  { "/v1/x?k%65y=sk-true%2Bkey%2F1" },
	  { "x-key" } },
	{ HEAD("/v1/x?key=mine&a=1;KEY=mine", ""),
	  { "/v1/x?a=1 ", "x-key: " SECRET },
	  { "mine" } },
	/* responses that could not be masked are not asked for */
	{ HEAD("/v1/x", "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n"),
	  { "accept-encoding: identity\r\n" },
	  { "gzip", "Range" } },
};

static void a_request_gets_the_secret_and_no_other(void)
{
	AUTO(bindings) struct bindings *list = parse(list_text);
	struct injection injection;
	char out[4096];

	REQUIRE(list);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool well = true;

		send(list, &good, rows[i].head, &injection, out, sizeof(out));
		well &= injection.bound && injection.used_count == 1;
		for (size_t k = 0; k < 2 && rows[i].has[k]; k++)
			well &= strstr(out, rows[i].has[k]) != NULL;
		for (size_t k = 0; k < 3 && rows[i].lacks[k]; k++)
			well &= strstr(out, rows[i].lacks[k]) == NULL;
		if (!well)
			printf("# row %zu: %s\n", i, out);
		CHECK(well);
	}
}

static void what_may_not_have_it_does_not_get_it(void)
{
	AUTO(bindings) struct bindings *list = parse(list_text);
	struct inject_facts facts = good;
	struct injection injection;
	char out[4096];

	REQUIRE(list);
	facts.verified = false;
	send(list, &facts,
	     HEAD("/v1/x?key=mine", "x-key: " HOLDER "\r\nCookie: mine\r\n"),
	     &injection, out, sizeof(out));
	CHECK(injection.bound && !injection.used_count && out[0]);
	CHECK(!strstr(out, SECRET) && !strstr(out, "mine"));
	/* a host that is not bound is not touched */
	facts = good;
	facts.target =
		&(struct target){ .name = (char *)"evil.test", .port = 443 };
	send(list, &facts,
	     HEAD("/v1/x", "x-key: " HOLDER "\r\nCookie: mine\r\n"), &injection,
	     out, sizeof(out));
	CHECK(!injection.bound && strstr(out, HOLDER) && strstr(out, "mine"));
	CHECK(!strstr(out, SECRET));
}

static void a_secret_without_a_value_is_missed(void)
{
	AUTO(bindings) struct bindings *list = parse(list_text);
	struct target late = { .name = (char *)"late.test", .port = 443 };
	struct inject_facts facts = good;
	struct injection injection;
	char out[4096];

	REQUIRE(list);
	facts.target = &late;
	send(list, &facts, HEAD("/v1/x", "x-late: " OTHER "\r\n"), &injection,
	     out, sizeof(out));
	CHECK(injection.bound && injection.missing == &list->list[1]);
	CHECK(!strcmp(injection.missing->why, "its command failed"));
}

static void a_header_may_be_for_some_hosts_alone(void)
{
	char text[2048];
	const char *at = strstr(list_text, "null, \"why\": \"its");
	AUTO(bindings) struct bindings *list = NULL;
	struct target git = { .name = (char *)"git.test", .port = 443 };
	struct inject_facts facts = good;
	struct injection injection;
	char out[4096];

	REQUIRE(at);
	snprintf(text, sizeof(text), "%.*s\"" SECRET "\"%s",
		 (int)(at - list_text), list_text, at + 4);
	list = parse(text);
	REQUIRE(list);
	facts.target = &git;
	send(list, &facts, HEAD("/v1/x", ""), &injection, out, sizeof(out));
	CHECK(strstr(out, "authorization: " BASIC_SECRET "\r\n"));
	git.name = (char *)"late.test";
	send(list, &facts, HEAD("/v1/x", ""), &injection, out, sizeof(out));
	CHECK(strstr(out, "x-late: " SECRET "\r\n"));
	CHECK(!strstr(out, "authorization"));
}

static void a_secret_is_found_by_its_name(void)
{
	AUTO(bindings) struct bindings *list = parse(list_text);
	AUTO(bindings) struct bindings *none = parse("{\"secrets\": []}");

	REQUIRE(list && none);
	CHECK(bindings_find(list, "a") == &list->list[0]);
	CHECK(!bindings_find(list, "A"));
	CHECK(!bindings_find(none, "a"));
	CHECK(!bindings_find(NULL, "a"));
}

int main(void)
{
	RUN(what_is_no_list_of_bindings_is_refused);
	RUN(each_condition_alone_refuses);
	RUN(a_host_that_is_not_bound_gets_nothing_by_any_rule);
	RUN(names_are_bound_as_rules_mean_them);
	RUN(a_request_gets_the_secret_and_no_other);
	RUN(what_may_not_have_it_does_not_get_it);
	RUN(a_secret_without_a_value_is_missed);
	RUN(a_header_may_be_for_some_hosts_alone);
	RUN(a_secret_is_found_by_its_name);
	return DONE();
}
