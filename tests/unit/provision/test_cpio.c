/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cpio.c - the initramfs archive, byte for byte and by cpio itself
 */
#include "provision/cpio.h"

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static struct error err;

static void an_entry_has_the_newc_form(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);
	struct cpio_entry file = { .name = "init",
				   .mode = S_IFREG | 0755,
				   .content = "hello",
				   .len = 5 };
	struct cpio cpio;

	cpio_init(&cpio, &out);
	REQUIRE(cpio_add(&cpio, &file, &err) == 0);
	REQUIRE(out.len == 116 + 8);
	CHECK(!memcmp(out.data,
		      "070701"
		      "00000001"
		      "000081ED"
		      "00000000"
		      "00000000"
		      "00000001"
		      "00000000"
		      "00000005"
		      "00000000"
		      "00000000"
		      "00000000"
		      "00000000"
		      "00000005"
		      "00000000"
		      "init\0",
		      115));
	CHECK(!memcmp(out.data + 116, "hello\0\0\0", 8));
}

static void the_archive_ends_with_a_trailer(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);
	struct cpio_entry console = { .name = "dev/console",
				      .mode = S_IFCHR | 0600,
				      .device_major = 5,
				      .device_minor = 1 };
	struct cpio cpio;

	cpio_init(&cpio, &out);
	REQUIRE(cpio_add(&cpio, &console, &err) == 0);
	CHECK(!memcmp(out.data + 78, "0000000500000001", 16));
	REQUIRE(cpio_finish(&cpio, &err) == 0);
	CHECK(out.len % 4 == 0);
	CHECK(!memcmp(out.data + out.len - 14, "TRAILER!!!", 10));
}

static void a_full_buffer_is_an_error(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(200);
	char bytes[512] = { 0 };
	struct cpio_entry file = { .name = "x",
				   .mode = S_IFREG | 0644,
				   .content = bytes,
				   .len = sizeof(bytes) };
	struct cpio cpio;

	cpio_init(&cpio, &out);
	CHECK(cpio_add(&cpio, &file, &err) < 0);
}

int main(void)
{
	RUN(an_entry_has_the_newc_form);
	RUN(the_archive_ends_with_a_trailer);
	RUN(a_full_buffer_is_an_error);
	return DONE();
}
