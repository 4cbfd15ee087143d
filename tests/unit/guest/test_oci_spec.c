/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oci_spec.c - where in a container's settings something can be added
 */
#include "guest/oci_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "lib/tap.h"

static const char *const names[] = { "SSL_CERT_FILE", "OTHER", NULL };
static struct oci_spec spec;

static int find(const char *text, enum oci_spec_kind kind)
{
	return oci_spec_find(text, strlen(text), kind, names, &spec);
}

static const char full[] =
	"{ \"ociVersion\": \"1.0\",\n \"process\": { \"terminal\": false, "
	"\"args\": [\"sh\", \"-c\", \"\\\"env\\\": []\"],"
	" \"env\": [\"PATH=/bin\", \"SSL_CERT_FILE=/x\"] , \"n\": -1.5e+3 },"
	"\"root\": {\"path\": \"/over/merged\", \"readonly\": true},"
	"\"linux\": {\"mounts\": [1, [2, {}]], \"env\": null},"
	"\"mounts\": [{\"destination\": \"/dev\", \"options\": []}\n]\n}\n";

static void lists_are_found_where_they_end(void)
{
	CHECK(find(full, OCI_SPEC_CONTAINER) == 0);
	CHECK(spec.env.end == (size_t)(strstr(full, "] , \"n\"") - full));
	CHECK(!spec.env.empty && !spec.mounts.empty);
	CHECK(full[spec.mounts.end] == ']' &&
	      strcmp(full + spec.mounts.end, "]\n}\n") == 0);
	CHECK(strcmp(spec.root, "/over/merged") == 0);
	CHECK(spec.is_set == 1);
}

static void a_process_has_variables_alone(void)
{
	CHECK(find("{\"args\":[],\"env\":[ ]}", OCI_SPEC_PROCESS) == 0);
	CHECK(spec.env.end == 19 && spec.env.empty && !spec.mounts.end);
	CHECK(find("{\"mounts\":[]}", OCI_SPEC_PROCESS) == 0 &&
	      !spec.mounts.end);
}

static void what_is_not_there_is_not_found(void)
{
	CHECK(find("{}", OCI_SPEC_CONTAINER) == 0);
	CHECK(!spec.env.end && !spec.mounts.end && !spec.root[0]);
	CHECK(find("{\"process\":null,\"mounts\":null,\"root\":null}",
		   OCI_SPEC_CONTAINER) == 0);
	CHECK(!spec.env.end && !spec.mounts.end);
	/* A path that would have to be decoded is none. */
	CHECK(find("{\"root\":{\"path\":\"/a\\u002fb\"}}",
		   OCI_SPEC_CONTAINER) == 0 &&
	      !spec.root[0]);
}

static void a_name_is_a_whole_one(void)
{
	CHECK(find("{\"env\":[\"SSL_CERT_FILES=1\",\"SSL_CERT_FILE\","
		   "\"OTHER=\"]}",
		   OCI_SPEC_PROCESS) == 0);
	CHECK(spec.is_set == 2);
}

static void what_is_malformed_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{",
		"{}x",
		"{\"env\"}",
		"{\"env\":[1]}",
		"{\"env\":[\"a\",]}",
		"{\"env\":[\"a\" \"b\"]}",
		"{\"env\":{}}",
		"{\"env\":[],\"env\":[]}",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\\",
		"{\"a\":tru",
		"{\"a\":}",
		"{\"a\":1,}",
		"{a:1}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(find(bad[i], OCI_SPEC_PROCESS) < 0);
}

static void it_is_never_too_deep(void)
{
	char text[4096] = "{\"a\":";

	memset(text + 5, '[', 1000);
	memset(text + 1005, ']', 1000);
	text[2005] = '}';
	CHECK(find(text, OCI_SPEC_CONTAINER) < 0);
}

static void it_may_be_cut_anywhere(void)
{
	for (size_t len = 0; len < strlen(full) - 2; len++) {
		AUTO_FREE char *part = malloc(len + 1);

		memcpy(part, full, len);
		CHECK(oci_spec_find(part, len, OCI_SPEC_CONTAINER, names,
				    &spec) < 0);
	}
}

int main(void)
{
	RUN(lists_are_found_where_they_end);
	RUN(a_process_has_variables_alone);
	RUN(what_is_not_there_is_not_found);
	RUN(a_name_is_a_whole_one);
	RUN(what_is_malformed_is_refused);
	RUN(it_is_never_too_deep);
	RUN(it_may_be_cut_anywhere);
	return DONE();
}
