/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_paths.c - which files a locked process reaches
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <errno.h>
#include <seccomp.h>
#include <sys/syscall.h>

#include "isolate_test.h"

static int open_body_with(const struct isolate_path *paths, bool private_root,
			  const char *path, int flags)
{
	struct isolate_profile with = profile();
	int fd;

	with.paths = paths;
	with.private_root = private_root;
	if (begin() < 0 || lock(&with) < 0)
		return BROKEN;
	fd = open(path, flags, 0600);
	return fd >= 0 ? 0 : REFUSED;
}

static int open_passwd_body(void)
{
	return open_body_with(no_paths, false, "/etc/passwd", O_RDONLY);
}

static void a_locked_process_cannot_open_passwd(void)
{
	CHECK(confinement_child(open_passwd_body) == REFUSED);
}

static int open_listed_body(void)
{
	const struct isolate_path paths[] = {
		{ "/nowhere/at/all", -1, ISOLATE_READ },
		{ folder, -1, ISOLATE_READ },
		NO_PATHS,
	};

	return open_body_with(paths, false, file_in_folder, O_RDONLY);
}

static void a_listed_folder_can_be_read_and_a_missing_one_is_skipped(void)
{
	CHECK(confinement_child(open_listed_body) == 0);
}

static int write_listed_body(void)
{
	const struct isolate_path paths[] = {
		{ folder, -1, ISOLATE_READ },
		NO_PATHS,
	};

	return open_body_with(paths, false, file_in_folder, O_RDWR);
}

static void a_folder_listed_for_reading_cannot_be_written(void)
{
	CHECK(confinement_child(write_listed_body) == REFUSED);
}

static int write_writable_body(void)
{
	const struct isolate_path paths[] = {
		{ folder, -1, ISOLATE_WRITE },
		NO_PATHS,
	};
	struct isolate_profile with = profile();
	char name[128];
	int fd;

	snprintf(name, sizeof(name), "%s/made", folder);
	with.paths = paths;
	if (begin() < 0 || lock(&with) < 0)
		return BROKEN;
	fd = openat(AT_FDCWD, name, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		return REFUSED;
	return syscall(SYS_unlinkat, AT_FDCWD, name, 0) == 0 ? 0 : 1;
}

static void a_writable_folder_can_be_written_and_cleaned(void)
{
	CHECK(confinement_child(write_writable_body) == 0);
}

static int open_by_descriptor_body(void)
{
	struct isolate_path paths[] = { { NULL, -1, ISOLATE_READ }, NO_PATHS };

	paths[0].fd = open(folder, O_PATH | O_CLOEXEC);
	return paths[0].fd < 0
		       ? BROKEN
		       : open_body_with(paths, false, file_in_folder, O_RDONLY);
}

static void a_path_can_be_given_as_a_descriptor(void)
{
	CHECK(confinement_child(open_by_descriptor_body) == 0);
}

/* To a port where nobody listens: what matters is who refuses. */
static int connect_with(bool may_connect)
{
	struct isolate_profile with = profile();
	struct error err = { 0 };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(1),
					.sin_addr = {
						htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	with.may_connect = may_connect;
	if (fd < 0 || begin() < 0 || isolate_paths(&with, &err) < 0)
		return BROKEN;
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return 0;
	return errno == EACCES ? REFUSED : 0;
}

static int may_connect_body(void)
{
	return connect_with(true);
}

static int may_not_connect_body(void)
{
	return connect_with(false);
}

static void only_who_may_connect_can(void)
{
	struct isolate_report report;

	isolate_probe(&report);
	CHECK(confinement_child(may_connect_body) == 0);
	if (report.landlock_abi >= 4)
		CHECK(confinement_child(may_not_connect_body) == REFUSED);
}

static int private_root_body(void)
{
	const struct isolate_path paths[] = {
		{ folder, -1, ISOLATE_READ },
		{ "/lib", -1, ISOLATE_READ },
		NO_PATHS,
	};
	struct isolate_profile with = profile();
	struct error err = { 0 };
	struct stat st;

	with.paths = paths;
	with.private_root = true;
	if (begin() < 0 || isolate_paths(&with, &err) < 0)
		return BROKEN;
	if (stat("/etc", &st) == 0 || stat("/proc", &st) == 0 ||
	    stat("/tmp/bawn-no", &st) == 0)
		return 1;
	if (stat(file_in_folder, &st) < 0 || stat("/lib/.", &st) < 0)
		return 2;
	return open(file_in_folder, O_RDWR) >= 0 ? 3 : 0;
}

static void a_private_root_holds_the_listed_paths_and_nothing_else(void)
{
	CHECK(confinement_child(private_root_body) == 0);
}

static int copy_body(void)
{
	struct isolate_copy copies[] = { { "/deep/down/copy", -1 },
					 { NULL, -1 } };
	const struct isolate_path paths[] = {
		{ "/deep", -1, ISOLATE_READ },
		NO_PATHS,
	};
	struct isolate_profile with = profile();
	struct error err = { 0 };
	char text[8] = "";
	int fd;

	copies[0].fd = open(file_in_folder, O_RDONLY | O_CLOEXEC);
	with.paths = paths;
	with.private_root = true;
	with.copies = copies;
	if (begin() < 0 || isolate_paths(&with, &err) < 0)
		return BROKEN;
	fd = open("/deep/down/copy", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) != 5)
		return 1;
	return strcmp(text, "hello") != 0;
}

static void a_copied_file_is_in_the_private_root(void)
{
	CHECK(confinement_child(copy_body) == 0);
}

/* As on a kernel without it. */
static bool forget_landlock(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
				SCMP_SYS(landlock_create_ruleset), 0) == 0 &&
	       seccomp_load(filter) == 0;
}

static int no_landlock_body(void)
{
	const struct isolate_path paths[] = {
		{ folder, -1, ISOLATE_READ },
		NO_PATHS,
	};

	if (!forget_landlock() || open("/etc/passwd", O_RDONLY) < 0)
		return BROKEN;
	if (open_body_with(paths, true, file_in_folder, O_RDONLY) != 0)
		return 1;
	return open("/etc/passwd", O_RDONLY) < 0 ? 0 : 2;
}

static void without_landlock_a_private_root_is_enough(void)
{
	CHECK(confinement_child(no_landlock_body) == 0);
}

static int too_little_body(void)
{
	struct isolate_profile with = profile();
	struct error err = { 0 };

	with.private_root = true;
	if (!forget_landlock() || begin() < 0 ||
	    !confinement_refuse_namespaces())
		return BROKEN;
	if (isolate_locked(&with, &err) == 0)
		return 1;
	return !strstr(err.text, "bawn doctor");
}

static void without_landlock_and_namespaces_locking_is_refused(void)
{
	CHECK(confinement_child(too_little_body) == 0);
}

static int only_namespaces_body(void)
{
	struct isolate_profile with = profile();
	struct error err = { 0 };

	with.namespaces = ISOLATE_NET;
	if (!forget_landlock() || begin() < 0)
		return BROKEN;
	return isolate_locked(&with, &err) == 0;
}

static void namespaces_without_a_private_root_are_not_enough(void)
{
	CHECK(confinement_child(only_namespaces_body) == 0);
}

int main(void)
{
	struct isolate_report report;

	if (CONFINEMENT_SANITIZED) {
		SKIP(paths, CONFINEMENT_SANITIZED_WHY);
		return DONE();
	}
	if (make_folder() < 0) {
		perror("folder");
		return 1;
	}
	isolate_probe(&report);
	if (report.landlock) {
		RUN(a_locked_process_cannot_open_passwd);
		RUN(a_listed_folder_can_be_read_and_a_missing_one_is_skipped);
		RUN(a_folder_listed_for_reading_cannot_be_written);
		RUN(a_writable_folder_can_be_written_and_cleaned);
		RUN(a_path_can_be_given_as_a_descriptor);
		RUN(only_who_may_connect_can);
	} else {
		SKIP(files_by_landlock, "this kernel has no Landlock");
	}
	if (report.user_namespaces) {
		RUN(a_private_root_holds_the_listed_paths_and_nothing_else);
		RUN(a_copied_file_is_in_the_private_root);
		RUN(without_landlock_a_private_root_is_enough);
		RUN(without_landlock_and_namespaces_locking_is_refused);
		RUN(namespaces_without_a_private_root_are_not_enough);
	} else {
		SKIP(private_root, "this kernel refuses user namespaces");
	}
	remove_folder();
	return DONE();
}
