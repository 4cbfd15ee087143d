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

/* Two files of 3 MiB with "middle" and "end"; one has no holes. */
static void make_twins(int holes, int full)
{
	size_t size = (3u << 20) + 5;
	AUTO_FREE char *plain = calloc(1, size);
	int fds[] = { holes, full };

	REQUIRE(plain && write(full, plain, size) == (ssize_t)size);
	REQUIRE(ftruncate(holes, (off_t)size) == 0);
	for (size_t i = 0; i < 2; i++) {
		REQUIRE(pwrite(fds[i], "middle", 6, (1 << 20) + 77) == 6);
		REQUIRE(pwrite(fds[i], "end", 3, (off_t)size - 3) == 3);
	}
}

static void a_sparse_digest_does_not_depend_on_holes(void)
{
	AUTO_CLOSE int holes = memfd_create("holes", MFD_CLOEXEC);
	AUTO_CLOSE int full = memfd_create("full", MFD_CLOEXEC);
	char a[DIGEST_HEX], b[DIGEST_HEX];

	REQUIRE(holes >= 0 && full >= 0);
	make_twins(holes, full);
	CHECK(digest_sparse_fd(holes, a, NULL) == 0);
	CHECK(digest_sparse_fd(full, b, NULL) == 0);
	CHECK(!strcmp(a, b));
}

static void a_sparse_digest_notices_every_byte_its_place_and_the_size(void)
{
	AUTO_CLOSE int holes = memfd_create("holes", MFD_CLOEXEC);
	AUTO_CLOSE int full = memfd_create("full", MFD_CLOEXEC);
	char a[DIGEST_HEX], b[DIGEST_HEX];

	REQUIRE(holes >= 0 && full >= 0);
	make_twins(holes, full);
	CHECK(digest_sparse_fd(holes, a, NULL) == 0);
	REQUIRE(pwrite(full, "x", 1, 2 << 20) == 1);
	CHECK(digest_sparse_fd(full, b, NULL) == 0 && strcmp(a, b));
	REQUIRE(pwrite(full, "\0x", 2, 2 << 20) == 2);
	CHECK(digest_sparse_fd(full, a, NULL) == 0 && strcmp(a, b));
	REQUIRE(ftruncate(full, 4 << 20) == 0);
	CHECK(digest_sparse_fd(full, b, NULL) == 0 && strcmp(a, b));
	REQUIRE(pwrite(full, "\0\0", 2, 2 << 20) == 2 &&
		pwrite(full, "x", 1, 3 << 20) == 1);
	CHECK(digest_sparse_fd(full, a, NULL) == 0 && strcmp(a, b));
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
	RUN(a_sparse_digest_does_not_depend_on_holes);
	RUN(a_sparse_digest_notices_every_byte_its_place_and_the_size);
	RUN(an_unreadable_descriptor_is_an_error);
	return DONE();
}
