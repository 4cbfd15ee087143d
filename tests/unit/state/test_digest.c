/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_digest.c - SHA-256 against the vectors of its standard
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/digest.h"

static int digest_is(const char *text, const char *hex)
{
	char got[DIGEST_HEX];

	digest_bytes(text, strlen(text), got);
	return !strcmp(got, hex);
}

static void published_vectors_match(void)
{
	CHECK(digest_is("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca4"
			    "95991b7852b855"));
	CHECK(digest_is("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9"
			       "cb410ff61f20015ad"));
	CHECK(digest_is(
		"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopno"
		"pq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd"
		"419db06c1"));
}

static void a_file_with_holes_has_the_digest_of_its_bytes(void)
{
	AUTO_CLOSE int fd = memfd_create("holes", MFD_CLOEXEC);
	size_t size = 3u << 20;
	AUTO_FREE char *plain = calloc(1, size);
	char a[DIGEST_HEX], b[DIGEST_HEX];

	REQUIRE(fd >= 0 && plain);
	memcpy(plain + (1u << 20), "middle", 6);
	REQUIRE(ftruncate(fd, (off_t)size) == 0);
	REQUIRE(pwrite(fd, "middle", 6, 1 << 20) == 6);
	digest_bytes(plain, size, a);
	CHECK(digest_fd(fd, b, NULL) == 0);
	CHECK(!strcmp(a, b));
}

static void the_position_of_the_descriptor_does_not_matter(void)
{
	AUTO_CLOSE int fd = memfd_create("position", MFD_CLOEXEC);
	char hex[DIGEST_HEX];

	REQUIRE(fd >= 0 && write(fd, "abc", 3) == 3);
	CHECK(digest_fd(fd, hex, NULL) == 0);
	CHECK(!strncmp(hex, "ba7816bf", 8));
}

static void an_unreadable_descriptor_is_an_error(void)
{
	struct error err = { 0 };
	char hex[DIGEST_HEX];

	CHECK(digest_fd(-1, hex, &err) < 0);
	CHECK(err.text[0]);
}

int main(void)
{
	RUN(published_vectors_match);
	RUN(a_file_with_holes_has_the_digest_of_its_bytes);
	RUN(the_position_of_the_descriptor_does_not_matter);
	RUN(an_unreadable_descriptor_is_an_error);
	return DONE();
}
