/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate_test.h - a profile to try, and a folder to try it on
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "isolate/isolate.h"
#include "lib/confinement.h"
#include "lib/tap.h"

#define ORDINARY 1879048192U /* as the sandboxes of root */
#define REFUSED 10           /* exit codes of bodies */
#define BROKEN 99

#define NO_PATHS            \
	{                   \
		NULL, -1, 0 \
	}

/* clang-format off */
static const char *const calls[] = {
	"read", "write", "openat", "close", "fstat", "lseek", "mmap", "munmap",
	"mprotect", "brk", "futex", "clone", "set_robust_list", "exit",
	"exit_group", "getpid", "gettid", "rseq", "newfstatat",
	"rt_sigprocmask", "rt_sigaction", "madvise", "unlinkat", "readlink",
	"getdents64", "getuid", NULL,
};
/* clang-format on */
static const char *const probed_calls[] = { "io_uring_setup", NULL };
static const struct isolate_argument call_rules[] = {
	{ "prctl", 0, 0xffffffff, PR_GET_NAME },
	{ "tgkill", 0, 0xffffffff, ISOLATE_OWN_PID },
	/* one pair of values, none of its mixtures */
	{ "socket", 0 | ISOLATE_AND, 0xffffffff, AF_INET },
	{ "socket", 1, 0xf, SOCK_DGRAM },
	{ NULL, 0, 0, 0 },
};
static const struct isolate_refusal call_refusals[] = {
	{ { "socket", 0, 0xffffffff, AF_UNIX }, EAFNOSUPPORT },
	{ .error = 0 },
};
static const struct isolate_path no_paths[] = { NO_PATHS };

static char folder[64]; /* the test's own, readable by everybody */
static char file_in_folder[96];

static struct isolate_profile profile(void)
{
	return (struct isolate_profile){
		.name = "test",
		.paths = no_paths,
		.syscalls = calls,
		.syscalls_enosys = probed_calls,
		.arguments = call_rules,
		.refusals = call_refusals,
	};
}

/* As a process of ours: without root, without rights. */
static int begin(void)
{
	struct error err = { 0 };

	if (geteuid() == 0 && isolate_drop_to(ORDINARY, ORDINARY, 0, &err) < 0)
		return -1;
	return isolate_early(0, &err);
}

static int lock(const struct isolate_profile *with)
{
	struct error err = { 0 };

	if (isolate_locked(with, &err) == 0)
		return 0;
	fprintf(stderr, "# %s\n", err.text);
	return -1;
}

static int make_folder(void)
{
	AUTO_CLOSE int fd = -1;

	snprintf(folder, sizeof(folder), "/tmp/bawn-isolate-XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0777) < 0)
		return -1;
	snprintf(file_in_folder, sizeof(file_in_folder), "%s/file", folder);
	fd = open(file_in_folder, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, "hello", 5) != 5)
		return -1;
	return fchmod(fd, 0666);
}

static void remove_folder(void)
{
	unlink(file_in_folder);
	rmdir(folder);
}
