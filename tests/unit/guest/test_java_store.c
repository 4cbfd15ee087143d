/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_java_store.c - a list of authorities in the form that Java reads
 */
#include "guest/java_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "lib/tap.h"

#define PEM(text) \
	"-----BEGIN CERTIFICATE-----\n" text "\n-----END CERTIFICATE-----\n"
#define FIRST PEM("Zmlyc3Q=")        /* first */
#define SECOND PEM("c2Vjb\n25kIQ==") /* second! */
#define OURS PEM("b3Vycw==")         /* ours */
#define NEWER PEM("bmV3ZXI=")        /* newer */

#define ENTRY(alias_len, alias, len, bytes)                      \
	"\0\0\0\2\0" alias_len alias "\0\0\0\0\0\0\0\0\0\5X.509" \
	"\0\0\0" len bytes

static const char two[] = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\3" ENTRY(
	"\10", "bundle-0", "\5", "first")
	ENTRY("\10", "bundle-1", "\7", "second!");
static const char ours[] = ENTRY("\14", "bawn-sandbox", "\4", "ours");
static const char newer[] = ENTRY("\14", "bawn-sandbox", "\5", "newer");

static bool hashes_to(const char *text, size_t times, const char *hex)
{
	uint8_t digest[SHA1_BYTES];
	char found[2 * SHA1_BYTES + 1];
	struct sha1 sha1;

	sha1_init(&sha1);
	for (size_t i = 0; i < times; i++)
		sha1_add(&sha1, text, strlen(text));
	sha1_finish(&sha1, digest);
	for (int i = 0; i < SHA1_BYTES; i++)
		snprintf(found + 2 * i, 3, "%02x", digest[i]);
	return strcmp(found, hex) == 0;
}

static void the_hash_is_sha1(void)
{
	CHECK(hashes_to("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"));
	CHECK(hashes_to("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"));
	CHECK(hashes_to("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnop"
			"nopq",
			1, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"));
	CHECK(hashes_to("a", 1000000,
			"34aa973cd4c4daa4f61eeb2bdbad27316534016f"));
}

static int make(const char *pem, const char *last, struct buffer *out)
{
	struct java_store store;

	return java_store_begin(pem, strlen(pem), out, &store) < 0 ||
			       store.len != out->len ||
			       java_store_end(&store, last, strlen(last), out) <
				       0
		       ? -1
		       : 0;
}

static bool is(const struct buffer *list, const char *last, size_t last_len)
{
	size_t len = sizeof(two) - 1;

	return list->len == len + last_len + SHA1_BYTES &&
	       memcmp(list->data, two, len) == 0 &&
	       memcmp(list->data + len, last, last_len) == 0;
}

static void a_bundle_becomes_a_list(void)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(4096);

	CHECK(make("# a remark\n" FIRST SECOND, OURS, &list) == 0);
	CHECK(is(&list, ours, sizeof(ours) - 1));
	CHECK(java_store_has(list.data, list.len, OURS, strlen(OURS)));
	CHECK(!java_store_has(list.data, list.len, NEWER, strlen(NEWER)));
}

static void what_is_no_certificate_is_left_out(void)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(4096);
	AUTO_BUFFER struct buffer none = BUFFER_INIT(4096);

	CHECK(make(FIRST PEM("???") PEM("A") PEM("") PEM("Zg==Zg==") SECOND
		   "-----BEGIN CERTIFICATE-----\nZg==\n",
		   OURS, &list) == 0);
	CHECK(is(&list, ours, sizeof(ours) - 1));
	CHECK(make(FIRST, "nothing", &none) < 0);
}

static void the_last_one_is_replaced(void)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(4096);
	AUTO_BUFFER struct buffer next = BUFFER_INIT(4096);
	AUTO_BUFFER struct buffer same = BUFFER_INIT(4096);

	CHECK(make(FIRST SECOND, OURS, &list) == 0);
	CHECK(!java_store_add(list.data, list.len, NEWER, strlen(NEWER),
			      &next));
	CHECK(is(&next, newer, sizeof(newer) - 1));
	CHECK(!java_store_add(next.data, next.len, NEWER, strlen(NEWER),
			      &same));
	CHECK(same.len == next.len &&
	      memcmp(same.data, next.data, same.len) == 0);
}

/* What stands behind ours is somebody's, and stays. */
static void a_list_of_others_grows(void)
{
	static const char head[] = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1";
	AUTO_BUFFER struct buffer list = BUFFER_INIT(4096);
	AUTO_BUFFER struct buffer next = BUFFER_INIT(4096);
	struct java_store store;

	CHECK(java_store_begin("", 0, &list, &store) == 0);
	CHECK(list.len == sizeof(head) - 1 && !memcmp(list.data, head, 12));
	CHECK(java_store_end(&store, OURS, strlen(OURS), &list) == 0);
	/* Not of our making: another name. */
	memcpy(memmem(list.data, list.len, "bawn-", 5), "mine-", 5);
	CHECK(java_store_add(list.data, list.len, OURS, strlen(OURS), &next) <
	      0);
	next.len = 0;
	list.len -= SHA1_BYTES;
	sha1_init(&store.hash);
	sha1_add(&store.hash, "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite", 32);
	sha1_add(&store.hash, list.data, list.len);
	sha1_finish(&store.hash, list.data + list.len);
	list.len += SHA1_BYTES;
	CHECK(!java_store_add(list.data, list.len, NEWER, strlen(NEWER),
			      &next));
	CHECK(next.data[11] == 2 &&
	      memmem(next.data, next.len, "mine-sandbox", 12));
	CHECK(java_store_has(next.data, next.len, NEWER, strlen(NEWER)));
}

static void a_list_that_was_cut_is_refused(void)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(4096);

	CHECK(make(FIRST SECOND, OURS, &list) == 0);
	for (size_t len = 0; len < list.len; len++) {
		AUTO_BUFFER struct buffer next = BUFFER_INIT(4096);
		AUTO_FREE uint8_t *part = malloc(len + 1);

		memcpy(part, list.data, len);
		CHECK(java_store_add(part, len, OURS, strlen(OURS), &next) < 0);
		(void)java_store_has(part, len, OURS, strlen(OURS));
	}
}

static void a_bundle_may_be_cut_anywhere(void)
{
	static const char text[] = FIRST SECOND;

	for (size_t len = 0; len < strlen(text); len++) {
		AUTO_BUFFER struct buffer list = BUFFER_INIT(4096);
		AUTO_FREE char *part = malloc(len + 1);
		struct java_store store;

		memcpy(part, text, len);
		CHECK(java_store_begin(part, len, &list, &store) == 0);
		CHECK(list.data[11] == 1 + (len >= strlen(FIRST) - 1) +
					       (len >= strlen(text) - 1));
	}
}

static void a_list_is_never_too_long(void)
{
	AUTO_BUFFER struct buffer small = BUFFER_INIT(64);

	CHECK(make(FIRST SECOND, OURS, &small) < 0);
}

int main(void)
{
	RUN(the_hash_is_sha1);
	RUN(a_bundle_becomes_a_list);
	RUN(what_is_no_certificate_is_left_out);
	RUN(the_last_one_is_replaced);
	RUN(a_list_of_others_grows);
	RUN(a_list_that_was_cut_is_refused);
	RUN(a_bundle_may_be_cut_anywhere);
	RUN(a_list_is_never_too_long);
	return DONE();
}
