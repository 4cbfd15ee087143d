/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_inject.c - a request's head: what leaves is a head again, and in it the
 * secret stands where it may and only there
 */
#include "net/inject.h"

#include <string.h>

#include "lib/fuzz.h"
#include "net/bindings.h"
#include "net/target.h"
#include "wire/http1_encode.h"
#include "wire/http1_head.h"

#define HOLDER "ph-0123456789"
#define SECRET "sk-true"

static const char list_text[] =
	"{\"secrets\": [{\"name\": \"a\", \"placeholder\": \"" HOLDER "\", "
	"\"value\": \"" SECRET "\", \"why\": null, \"hosts\": [\"api.test\"], "
	"\"headers\": [{\"name\": \"x-key\", \"format\": \"%s\"}, {\"name\": "
	"\"authorization\", \"format\": \"Bearer %s\"}], \"query\": [\"key\"], "
	"\"methods\": [], \"paths\": [], \"plain_http\": false}]}";

static char arena[INJECT_ARENA_SIZE], again[HTTP1_ENCODED_MAX];

static void check_fields(const struct http_request *request, bool may)
{
	for (size_t i = 0; i < request->fields.count; i++) {
		struct span name = request->fields.list[i].name;

		FUZZ_CHECK(!span_matches_text(name, "cookie"));
		FUZZ_CHECK(may || !span_matches_text(name, "x-key"));
		FUZZ_CHECK(may || !span_matches_text(name, "authorization"));
	}
}

static void run(const struct bindings *list, const uint8_t *data, size_t size,
		bool may)
{
	struct target target = { .name = (char *)"api.test", .port = 443 };
	struct inject_facts facts = { .target = &target,
				      .encrypted = true,
				      .verified = may,
				      .names_agree = true,
				      .method = "GET",
				      .path = "/" };
	struct http_request request;
	struct http_problem problem;
	struct injection injection;
	int len;

	if (http1_request_parse(data, size, &request, &problem) < 0)
		return;
	/* A guest that knew the secret would not need us. */
	if (memmem(data, size, SECRET, strlen(SECRET)))
		return;
	if (inject_request(list, &facts, &request, arena, &injection) < 0)
		return;
	FUZZ_CHECK(injection.bound);
	FUZZ_CHECK((injection.used_count > 0) == may);
	check_fields(&request, may);
	len = http1_request_encode(&request, 0, again, sizeof(again));
	if (len < 0)
		return;
	FUZZ_CHECK(may || !memmem(again, (size_t)len, SECRET, strlen(SECRET)));
	FUZZ_CHECK(http1_request_parse(again, (size_t)len, &request,
				       &problem) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bindings *list;

	if (!list)
		list = bindings_parse(list_text, strlen(list_text), NULL);
	FUZZ_CHECK(list);
	run(list, data, size, true);
	run(list, data, size, false);
	return 0;
}
