/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confinement.h - for tests that try things in a child that may be killed
 */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define CONFINEMENT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define CONFINEMENT_SANITIZED 1
#endif
#endif
#ifndef CONFINEMENT_SANITIZED
#define CONFINEMENT_SANITIZED 0
#endif
#define CONFINEMENT_SANITIZED_WHY \
	"a sanitizer needs system calls that the filters forbid"

#define KILLED_BY_SECCOMP (128 + SIGSYS)

/* Exit code of body in a child; 128 + signal when it was killed. */
static inline int confinement_child(int (*body)(void))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(body());
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static inline bool confinement_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && dprintf(fd, "%s", text) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * From here on this process and its children get no user namespace: in one of
 * its own it may set the limit of those beneath.
 */
static inline bool confinement_refuse_namespaces(void)
{
	char map[64];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER) < 0 ||
	    !confinement_write("/proc/self/setgroups", "deny"))
		return false;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (!confinement_write("/proc/self/gid_map", map))
		return false;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	return confinement_write("/proc/self/uid_map", map) &&
	       confinement_write("/proc/sys/user/max_user_namespaces", "0");
}
