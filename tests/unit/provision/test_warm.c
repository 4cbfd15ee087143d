/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_warm.c - keys of warm images, and damaged ones
 */
#include "provision/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"
#include "provision/warm_internal.h"
#include "state/paths.h"

static const struct warm_parts parts = {
	.machine = "pc-q35-7.2",
	.qemu = "identity",
	.template_name = "tiny",
	.template_id = "sha256:1",
	.kernel = "kernel",
	.initramfs = "initramfs",
	.cpu = "max",
	.host_cpu = "model",
	.append = "quiet",
	.cpus = 2,
	.memory_mib = 512,
	.disk_bytes = 1 << 30,
};

static void key_changes(const struct warm_parts *other)
{
	AUTO_FREE char *a = warm_key(&parts);
	AUTO_FREE char *b = warm_key(other);

	CHECK(strlen(a) == 32);
	CHECK(strcmp(a, b) != 0);
}

static void every_part_changes_the_key(void)
{
	struct warm_parts other;
	AUTO_FREE char *a = warm_key(&parts);
	AUTO_FREE char *b = warm_key(&parts);

	CHECK(strcmp(a, b) == 0);
#define PART(field, value)   \
	other = parts;       \
	other.field = value; \
	key_changes(&other)
	PART(machine, "pc-q35-8.0");
	PART(qemu, "other");
	PART(template_id, "sha256:2");
	PART(kernel, "other");
	PART(initramfs, "other");
	PART(accel, START_ACCEL_KVM);
	PART(cpu, "host");
	PART(host_cpu, "other");
	PART(append, "debug");
	PART(cpus, 3);
	PART(memory_mib, 1024);
	PART(disk_bytes, 2ull << 30);
}

static int make_image(const char *key, struct error *err)
{
	AUTO_FREE char *sub = xasprintf("warm/%s", key);
	AUTO_CLOSE int folder = paths_open(PATHS_DATA, sub, err);
	static const char *const names[] = { WARM_RAM, WARM_STATE, WARM_DISK };

	for (size_t i = 0; folder >= 0 && i < ARRAY_SIZE(names); i++) {
		if (fileio_replace(folder, names[i], "bytes", 5, 0444, 0, err) <
		    0)
			return -1;
	}
	return folder < 0 ? -1
			  : warm_manifest_save(folder, &parts, "marker", err);
}

static void an_image_is_found_until_one_of_its_files_changes(void)
{
	AUTO_FREE char *state = NULL;
	struct warm warm;
	struct error err;
	int fd;

	REQUIRE(make_image("key", &err) == 0);
	REQUIRE(warm_find("key", &warm, &err) == 0);
	CHECK(strcmp(warm.marker, "marker") == 0);
	CHECK(strcmp(warm.machine, "pc-q35-7.2") == 0);
	state = xstrdup(warm.device_state);
	warm_release(&warm);
	chmod(state, 0600);
	fd = open(state, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
	CHECK(warm_find("key", &warm, &err) < 0);
	CHECK(err.code == EBADMSG);
}

static void verify_finds_a_change_that_left_size_and_times(void)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *path = NULL;
	struct warm warm;
	struct error err;
	struct stat st;

	REQUIRE(make_image("whole", &err) == 0);
	CHECK(warm_verify("whole", &err) == 0);
	path = paths_of(PATHS_DATA, "warm/whole/" WARM_RAM, &err);
	REQUIRE(path && chmod(path, 0600) == 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && fstat(fd, &st) == 0 && write(fd, "x", 1) == 1);
	CHECK(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }) == 0);
	REQUIRE(warm_find("whole", &warm, &err) == 0);
	warm_release(&warm);
	CHECK(warm_verify("whole", &err) < 0 && err.code == EBADMSG);
	CHECK(strstr(err.text, WARM_RAM));
}

static void a_missing_image_and_a_half_made_one_differ(void)
{
	AUTO_CLOSE int half = -1;
	struct warm warm;
	struct error err;

	CHECK(warm_find("nothing", &warm, &err) < 0);
	CHECK(err.code == ENOENT);
	half = paths_open(PATHS_DATA, "warm/half", &err);
	CHECK(half >= 0);
	CHECK(warm_find("half", &warm, &err) < 0);
	CHECK(err.code == EBADMSG);
}

int main(void)
{
	char home[] = "/tmp/bawn-test-warm-XXXXXX";
	int parent;

	if (!mkdtemp(home) || setenv("BAWN_HOME", home, 1) < 0)
		return 1;
	RUN(every_part_changes_the_key);
	RUN(an_image_is_found_until_one_of_its_files_changes);
	RUN(verify_finds_a_change_that_left_size_and_times);
	RUN(a_missing_image_and_a_half_made_one_differ);
	parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fileio_remove_tree(parent, home + 5, NULL);
	close(parent);
	return DONE();
}
