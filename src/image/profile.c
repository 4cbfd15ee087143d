/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-image may do once it reads foreign bytes
 *
 * No path, no network, no other program: input and output are descriptors
 * that the caller opened.
 */
#include "image/profile.h"

#include <unistd.h>

#include "base/error.h"
#include "image/talk.h"
#include "isolate/isolate.h"

#define NOBODY 65534 /* owns nothing; outputs came as descriptors */

static const struct isolate_path no_paths[] = {
	{ .path = NULL, .fd = -1 },
};

static const char *const syscalls[] = {
	"read",
	"pread64",
	"write",
	"pwrite64",
	"pwritev",
	"writev", /* data */
	"lseek",
	"fstat",
	"newfstatat", /* stdio and size checks on open fds */
	"ftruncate",
	"fallocate",
	"fsync", /* the image: length, holes */
	"close",
	"mmap",
	"munmap",
	"mremap",
	"madvise",
	"brk",
	"mprotect",  /* malloc */
	"getrandom", /* malloc() of newer C libraries */
	"clock_gettime",
	"gettimeofday",
	"time",    /* without a vDSO */
	"sysinfo", /* qsort() asks how much memory there is */
	"futex",   /* locks of the C library and libcrypto */
	"rt_sigreturn",
	"rt_sigprocmask",
	"restart_syscall",
	"getpid",
	"gettid",
	"tgkill",
	"rt_sigaction", /* abort() */
	"exit",
	"exit_group",
	NULL,
};

/* On a socket that is there already; none can be made. */
static const struct isolate_argument talking[] = {
	{ "sendmsg", 0, UINT64_MAX, TALK_FD },
	{ "recvmsg", 0, UINT64_MAX, TALK_FD },
	{ "poll", 1, UINT64_MAX, 1 },
	{ NULL, 0, 0, 0 },
};

static int enter(const struct isolate_argument *arguments, struct error *err)
{
	const struct isolate_profile profile = {
		.name = "bawn-image",
		.namespaces = ISOLATE_NET | ISOLATE_IPC,
		.paths = no_paths,
		.syscalls = syscalls,
		.arguments = arguments,
	};

	if (geteuid() == 0 &&
	    isolate_drop_to(NOBODY, NOBODY, ISOLATE_NET | ISOLATE_IPC, err) < 0)
		return -1;
	/* No secrets here; and an undumpable process gets no namespace. */
	if (isolate_early(0, err) < 0)
		return -1;
	return isolate_locked(&profile, err);
}

int profile_enter(struct error *err)
{
	return enter(NULL, err);
}

int profile_enter_talking(struct error *err)
{
	return enter(talking, err);
}
