/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.c - how a relay lives
 */
#include "guest/steady.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "guest/sysfile.h"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
#define FDS_MAX 16
#define FD_FIRST 3

void steady_begin(const char *name, unsigned files)
{
	struct rlimit limit = { .rlim_cur = files, .rlim_max = files };
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		if (number != SIGSEGV && number != SIGBUS && number != SIGILL &&
		    number != SIGFPE && number != SIGABRT)
			signal(number, SIG_IGN);
	}
	prctl(PR_SET_NAME, name);
	sysfile_write(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
	setrlimit(RLIMIT_NOFILE, &limit);
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_debug("mlockall: %s", strerror(errno));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
}

void steady_keep(int *fds, size_t count)
{
	/* First out of the way of the numbers, then to them. */
	for (size_t i = 0; i < count; i++) {
		if (fds[i] >= 0)
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC,
				       FD_FIRST + FDS_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		int number = FD_FIRST + (int)i;

		if (fds[i] >= 0)
			fds[i] = dup3(fds[i], number, O_CLOEXEC);
		else
			close(number);
	}
	syscall(SYS_close_range, FD_FIRST + (unsigned)count, ~0U, 0);
}
