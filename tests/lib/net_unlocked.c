/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_unlocked.c - bawn-net without its lock, for sanitizers and valgrind
 *
 * They need system calls that the filter forbids. Only tests start this.
 */
#include "net/profile.h"

#include <sys/resource.h>

#include "base/error.h"
#include "net/limit.h"

int profile_enter(uid_t uid, struct error *err)
{
	struct rlimit limit = { LIMIT_DESCRIPTORS, LIMIT_DESCRIPTORS };

	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return 0;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit);
}
