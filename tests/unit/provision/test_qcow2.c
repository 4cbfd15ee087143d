/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qcow2.c - our overlays are what qemu-img calls clean
 */
#include "provision/qcow2.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "lib/tap.h"

static char path[] = "/tmp/bawn-test-qcow2-XXXXXX";

static int run_qemu_img(const char *verb, struct buffer *out)
{
	struct error err = { 0 };
	const char *tool = child_tool("qemu-img", &err);
	const char *argv[] = { "qemu-img", verb, "-f", "qcow2", path, NULL };
	struct child_spec spec = { .path = tool, .argv = argv };

	if (!tool)
		return -1;
	if (child_run(&spec, out, &err) < 0) {
		printf("# %s\n", err.text);
		return -1;
	}
	return 0;
}

static void create_and_check(uint64_t size)
{
	struct error err = { 0 };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);
	char expected[64];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	CHECK(qcow2_create(fd, size, &err) == 0);
	close(fd);
	if (access("/usr/bin/qemu-img", X_OK) < 0)
		return;
	CHECK(run_qemu_img("check", NULL) == 0);
	REQUIRE(run_qemu_img("info", &out) == 0);
	snprintf(expected, sizeof(expected), "(%llu bytes)",
		 (unsigned long long)size);
	REQUIRE(buffer_str(&out));
	CHECK(strstr(buffer_str(&out), expected));
}

static void small_default_and_huge_images_are_clean(void)
{
	create_and_check(512);
	create_and_check(64ull << 20);
	create_and_check(100000000000ull / 512 * 512);
	create_and_check(10ull << 40);
}

static void sizes_that_no_disk_has_are_refused(void)
{
	struct error err = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stat st;

	REQUIRE(fd >= 0);
	CHECK(qcow2_create(fd, 0, &err) < 0);
	CHECK(qcow2_create(fd, 513, &err) < 0);
	CHECK(qcow2_create(fd, UINT64_MAX / 512 * 512, &err) < 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 0);
	close(fd);
}

static void a_file_with_content_is_not_overwritten(void)
{
	struct error err = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	CHECK(write(fd, "precious", 8) == 8);
	CHECK(qcow2_create(fd, 1 << 20, &err) < 0);
	close(fd);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(small_default_and_huge_images_are_clean);
	RUN(sizes_that_no_disk_has_are_refused);
	RUN(a_file_with_content_is_not_overwritten);
	unlink(path);
	return DONE();
}
