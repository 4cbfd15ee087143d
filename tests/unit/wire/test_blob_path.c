/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_blob_path.c - requests for a part of an image, and their redirects
 */
#include "wire/blob_path.h"

#include <stdlib.h>

#include "lib/tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BLOB "/blobs/sha256:" HEX
#define STORE "https://cdn.example:8443/ab/" HEX "/data?sig=a/b"

static bool is_blob(const char *path)
{
	char hex[BLOB_HEX];

	return blob_path_parse(span_of(path), hex) == 0 && !strcmp(hex, HEX);
}

static void parts_of_images_are_known(void)
{
	CHECK(is_blob("/v2/small" BLOB));
	CHECK(is_blob("/v2/library/busy-box_1.x" BLOB));
	CHECK(!is_blob("/v2/small/manifests/sha256:" HEX));
	CHECK(!is_blob("/v2/small/blobs/sha512:" HEX));
	CHECK(!is_blob("/v2/small" BLOB "0"));
	CHECK(!is_blob("/v2/small" BLOB "/"));
	CHECK(!is_blob("/v1/small" BLOB));
	CHECK(!is_blob("v2/small" BLOB));
}

static void names_have_one_spelling(void)
{
	CHECK(!is_blob("/v2/" BLOB));
	CHECK(!is_blob("/v2" BLOB));
	CHECK(!is_blob("/v2//a" BLOB));
	CHECK(!is_blob("/v2/a/" BLOB));
	CHECK(!is_blob("/v2/a/../b" BLOB));
	CHECK(!is_blob("/v2/./b" BLOB));
	CHECK(!is_blob("/v2/a%2fb" BLOB));
	CHECK(!is_blob("/v2/A" BLOB));
	CHECK(!is_blob("/v2/a-" BLOB));
}

static void a_cut_path_is_no_blob(void)
{
	static const char whole[] = "/v2/small" BLOB;
	char hex[BLOB_HEX];

	for (size_t len = 0; len < strlen(whole); len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, whole, len);
		CHECK(blob_path_parse(span_over(copy, len), hex) < 0);
		free(copy);
	}
}

static int redirect(const char *location, struct blob_redirect *out)
{
	return blob_redirect_parse(span_of(location), HEX, out);
}

static void a_store_names_the_digest_in_its_path(void)
{
	struct blob_redirect out;

	REQUIRE(redirect(STORE, &out) == 0);
	CHECK(!strcmp(out.host.host, "cdn.example") && out.host.port == 8443);
	CHECK(span_is(out.target, "/ab/" HEX "/data?sig=a/b"));
	CHECK(redirect("https://cdn.example/" HEX, &out) == 0);
	CHECK(out.host.port == 443);
	CHECK(redirect("http://cdn.example/" HEX, &out) < 0);
	CHECK(redirect("/" HEX, &out) < 0);
	CHECK(redirect("https://" HEX "/x", &out) < 0);
	CHECK(redirect("https://user@cdn.example/" HEX, &out) < 0);
}

static void a_login_is_no_store(void)
{
	struct blob_redirect out;

	CHECK(redirect("https://login.example/?to=/v2/a" BLOB, &out) < 0);
	CHECK(redirect("https://other.example/v2/a" BLOB, &out) < 0);
	CHECK(redirect("https://login.example/", &out) < 0);
}

static void a_cut_location_stays_in_its_bytes(void)
{
	for (size_t len = 0; len <= strlen(STORE); len++) {
		char *copy = malloc(len + 1);
		struct blob_redirect out;

		memcpy(copy, STORE, len);
		if (blob_redirect_parse(span_over(copy, len), HEX, &out) == 0)
			CHECK(out.target.bytes + out.target.len == copy + len);
		free(copy);
	}
}

static void pulls_begin_with_few_paths(void)
{
	CHECK(blob_path_is_pull(span_of("/v2/")));
	CHECK(blob_path_is_pull(span_of("/v2/a/manifests/latest")));
	CHECK(blob_path_is_pull(span_of("/v2/a" BLOB)));
	CHECK(!blob_path_is_pull(span_of("/v2")));
	CHECK(!blob_path_is_pull(span_of("/v2/users")));
	CHECK(!blob_path_is_pull(span_of("/v1/a/manifests/latest")));
	CHECK(!blob_path_is_pull(span_of("")));
}

int main(void)
{
	RUN(parts_of_images_are_known);
	RUN(names_have_one_spelling);
	RUN(a_cut_path_is_no_blob);
	RUN(pulls_begin_with_few_paths);
	RUN(a_store_names_the_digest_in_its_path);
	RUN(a_login_is_no_store);
	RUN(a_cut_location_stays_in_its_bytes);
	return DONE();
}
