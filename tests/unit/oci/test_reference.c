/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reference.c - names of images
 */
#include "oci/reference.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct reference reference;
static struct error err;

static void names_have_one_full_and_one_short_spelling(void)
{
	static const char *const rows[][3] = {
		{ "busybox", "docker.io/library/busybox:latest",
		  "busybox:latest" },
		{ "busybox:1.36", "docker.io/library/busybox:1.36",
		  "busybox:1.36" },
		{ "docker.io/busybox", "docker.io/library/busybox:latest",
		  "busybox:latest" },
		{ "index.docker.io/a/b:c", "docker.io/a/b:c", "a/b:c" },
		{ "docker.io/library/x", "docker.io/library/x:latest",
		  "x:latest" },
		{ "library/x/y", "docker.io/library/x/y:latest",
		  "library/x/y:latest" },
		{ "myorg/app", "docker.io/myorg/app:latest",
		  "myorg/app:latest" },
		{ "localhost/app", "localhost/app:latest",
		  "localhost/app:latest" },
		{ "localhost:5000/a/b:v1", "localhost:5000/a/b:v1",
		  "localhost:5000/a/b:v1" },
		{ "localhost:5000", "docker.io/library/localhost:5000",
		  "localhost:5000" },
		{ "reg.example/o/r:t", "reg.example/o/r:t",
		  "reg.example/o/r:t" },
		{ "REG.example/o/r:T", "reg.example/o/r:T",
		  "reg.example/o/r:T" },
		{ "docker.io/a.b/c", "docker.io/a.b/c:latest",
		  "docker.io/a.b/c:latest" },
		{ "127.0.0.1:5000/x", "127.0.0.1:5000/x:latest",
		  "127.0.0.1:5000/x:latest" },
		{ "[::1]:5000/x:y", "[::1]:5000/x:y", "[::1]:5000/x:y" },
		{ "a/b__c-d.e_f--g", "docker.io/a/b__c-d.e_f--g:latest",
		  "a/b__c-d.e_f--g:latest" },
		{ "x@sha256:" HEX, "docker.io/library/x@sha256:" HEX,
		  "x@sha256:" HEX },
		{ "x:t@sha256:" HEX, "docker.io/library/x:t@sha256:" HEX,
		  "x:t@sha256:" HEX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[REFERENCE_TEXT_MAX];

		CHECK(reference_parse(rows[i][0], &reference, &err) == 0);
		reference_format(&reference, text);
		CHECK(strcmp(text, rows[i][1]) == 0);
		reference_familiar(&reference, text);
		CHECK(strcmp(text, rows[i][2]) == 0);
		/* each spelling means the same */
		CHECK(reference_parse(rows[i][2], &reference, &err) == 0);
		reference_format(&reference, text);
		CHECK(strcmp(text, rows[i][1]) == 0);
	}
}

static void malformed_names_are_refused(void)
{
	static const char *const rows[] = {
		"",
		"/x",
		"x/",
		"x//y",
		"x:",
		"x:-a",
		"x:a b",
		"x:a/b",
		"X",
		"a/B",
		"A/b",
		"-x",
		"x-",
		"x..y",
		"x___y",
		"../x",
		"a/../b",
		"x@sha256:abc",
		"x@sha256:" HEX "0",
		"x@md5:" HEX,
		"x@",
		"x@sha256:" HEX "@sha256:" HEX,
		HEX,
		"host:0/x",
		"host:99999/x",
		"host:/x",
		"ho_st.com/x",
		"-host.com/x",
		"host..com/x",
		"[::1/x",
		"[zz]:1/x",
		"[::1]:0/x",
		"http://x/y",
		"x\ny",
		"x\x01",
		"x:\xc3\xa4",
		"user@host/x",
		"a.b/%2e%2e/x",
	};
	char longest[1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(reference_parse(rows[i], &reference, &err) < 0 &&
		      err.text[0]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK(reference_parse(longest, &reference, &err) < 0);
	longest[255] = '\0';
	CHECK(reference_parse(longest, &reference, &err) < 0);
	longest[247] = '\0';
	CHECK(reference_parse(longest, &reference, &err) == 0);
	memcpy(longest, "x:", 2);
	longest[130] = '\0';
	CHECK(reference_parse(longest, &reference, &err) == 0);
	longest[130] = 'a';
	longest[131] = '\0';
	CHECK(reference_parse(longest, &reference, &err) < 0);
}

static void loopback_is_this_machine_only(void)
{
	CHECK(reference_is_loopback("localhost"));
	CHECK(reference_is_loopback("localhost:5000"));
	CHECK(reference_is_loopback("127.0.0.1:5000"));
	CHECK(reference_is_loopback("127.8.9.1"));
	CHECK(reference_is_loopback("[::1]:5000"));
	CHECK(!reference_is_loopback("localhost.example.org"));
	CHECK(!reference_is_loopback("127.0.0.1.example.org"));
	CHECK(!reference_is_loopback("[::2]:5000"));
	CHECK(!reference_is_loopback("[::ffff:127.0.0.1]:5000"));
	CHECK(!reference_is_loopback("10.0.0.1"));
	CHECK(!reference_is_loopback("docker.io"));
}

static void digests_are_exact(void)
{
	CHECK(digest_name_is_valid("sha256:" HEX));
	CHECK(digest_name_is_valid("sha512:" HEX HEX));
	CHECK(!digest_name_is_valid("sha512:" HEX));
	CHECK(!digest_name_is_valid("sha256:" HEX HEX));
	CHECK(!digest_name_is_valid("SHA256:" HEX));
	CHECK(!digest_name_is_valid(
		"sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef"
		"0123456789abcdef"));
	CHECK(!digest_name_is_valid("sha256"));
	CHECK(!digest_name_is_valid(""));
	CHECK(strcmp(digest_name_hex("sha256:" HEX), HEX) == 0);
	CHECK(strcmp(digest_name_algorithm("sha512:" HEX HEX), "sha512") == 0);
}

int main(void)
{
	RUN(names_have_one_full_and_one_short_spelling);
	RUN(malformed_names_are_refused);
	RUN(loopback_is_this_machine_only);
	RUN(digests_are_exact);
	return DONE();
}
