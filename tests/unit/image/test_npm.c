/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_npm.c - unit tests of image/npm_manifest.h and of orders for it
 */
#include "image/npm.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"

/* 64 bytes of zero */
#define ZEROES                                                                 \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" \
	"AAAAAA"                                                               \
	"AAAAAAAAAAAA=="
#define MANIFEST(name, version, integrity)                             \
	"{\"name\": \"" name "\", \"version\": \"" version             \
	"\", \"bin\": {}, \"dist\": {\"tarball\": \"https://h.test/x." \
	"tgz\", \"integrity\": \"" integrity "\"}}"

static int parse(const char *text, struct npm_manifest *out)
{
	return npm_manifest_parse(text, strlen(text), "@a/b", out, NULL);
}

static void a_version_has_an_address_and_a_digest(void)
{
	struct npm_manifest out;

	REQUIRE(parse(MANIFEST("@a/b", "1.2.3-x", "sha512-" ZEROES), &out) ==
		0);
	CHECK(!strcmp(out.version, "1.2.3-x"));
	CHECK(!strcmp(out.tarball, "https://h.test/x.tgz"));
	CHECK(strlen(out.digest) == 7 + 128 &&
	      !strncmp(out.digest, "sha512:0000", 11));
	CHECK(parse(MANIFEST("@a/b", "1", "sha1-AAAA sha512-" ZEROES), &out) ==
	      0);
}

static void what_is_none_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		MANIFEST("@a/c", "1", "sha512-" ZEROES),
		MANIFEST("@a/b", "1/2", "sha512-" ZEROES),
		MANIFEST("@a/b", "", "sha512-" ZEROES),
		MANIFEST("@a/b", "1", ""),
		MANIFEST("@a/b", "1", "sha1-AAAA"),
		MANIFEST("@a/b", "1", "sha512-"),
		MANIFEST("@a/b", "1", "sha512-AAAA"),
		MANIFEST("@a/b", "1", "sha512-" ZEROES "AAAA"),
		"{\"name\": \"@a/b\", \"version\": \"1\", \"dist\": "
		"{\"tarball\": \"https://h\\n\", \"integrity\": "
		"\"sha512-" ZEROES "\"}}",
	};
	struct npm_manifest out;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int result = parse(bad[i], &out);

		if (result == 0)
			printf("# taken: %s\n", bad[i]);
		CHECK(result < 0);
	}
}

static void a_manifest_cut_anywhere_is_refused(void)
{
	const char *text = MANIFEST("@a/b", "1", "sha512-" ZEROES);
	struct npm_manifest out;

	for (size_t len = 0; len < strlen(text); len++)
		CHECK(npm_manifest_parse(text, len, "@a/b", &out, NULL) < 0);
}

static void names_stay_in_their_place(void)
{
	CHECK(npm_name_is_valid("a") && npm_name_is_valid("@a/b.c"));
	CHECK(!npm_name_is_valid("") && !npm_name_is_valid("@a"));
	CHECK(!npm_name_is_valid("a/b") && !npm_name_is_valid("@a/b/c"));
	CHECK(!npm_name_is_valid("..") && !npm_name_is_valid("@a/.."));
	CHECK(!npm_name_is_valid("a b") && !npm_name_is_valid("a?b"));
	CHECK(npm_version_is_valid("latest") &&
	      npm_version_is_valid("-linux-x64"));
	CHECK(!npm_version_is_valid("..") && !npm_version_is_valid("a/b"));
}

static int order(const char *registry)
{
	char text[256];
	struct npm_order *out = xcalloc(1, sizeof(*out));
	int result;

	snprintf(text, sizeof(text),
		 "{\"registry\": \"%s\", \"package\": \"@a/b\", \"version\": "
		 "\"latest\"}",
		 registry);
	result = npm_order_parse(text, strlen(text), out, NULL);
	if (result == 0 && out->registry[strlen(out->registry) - 1] == '/')
		result = -1;
	free(out);
	return result;
}

static void a_registry_is_https_or_this_machine(void)
{
	CHECK(order("https://r.test/") == 0);
	CHECK(order("https://r.test/npm//") == 0);
	CHECK(order("http://127.0.0.1:4873/") == 0);
	CHECK(order("http://localhost:4873") == 0);
	CHECK(order("http://r.test/") < 0);
	CHECK(order("http://127.0.0.1.r.test/") < 0);
	CHECK(order("https://user@r.test/") < 0);
	CHECK(order("https://") < 0);
	CHECK(order("ftp://r.test/") < 0);
	CHECK(order("https://r.test/?a") < 0);
}

int main(void)
{
	RUN(a_version_has_an_address_and_a_digest);
	RUN(what_is_none_is_refused);
	RUN(a_manifest_cut_anywhere_is_refused);
	RUN(names_stay_in_their_place);
	RUN(a_registry_is_https_or_this_machine);
	return DONE();
}
