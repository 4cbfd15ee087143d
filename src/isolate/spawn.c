/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - a child under a profile, as PID 1 of its own PID namespace
 *
 * A PID namespace begins with the next child of whoever made it. So the first
 * child makes the namespaces and clones the real one with CLONE_PARENT, which
 * makes it our child, not its own: we can wait for it, and the kernel's parent
 * death signal is about us. The first child then ends.
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define STAGE_FDS 3 /* that the first child needs besides the caller's */

struct spawn {
	const struct isolate_profile *profile;
	const struct child_spec *spec;
	struct isolate_stage stage; /* numbers in the child */
	int report_fd;              /* number in the child; CLOEXEC there */
};

static void close_on_exec(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* In the first child: 1 when there is a second one now. */
static int clone_init(const struct spawn *spawn, struct error *err)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL,
				   NULL, NULL, NULL);

	if (pid < 0)
		return error_set(err, errno, "clone");
	if (pid == 0)
		return 0;
	/* We are not in the namespace, so this is the number out here. */
	if (write(spawn->report_fd, &pid, sizeof(pid)) != sizeof(pid))
		kill(pid, SIGKILL);
	_exit(0);
}

/*
 * After the last change of credentials, which would clear it. getppid() is 0
 * in a PID namespace, so whether we still have a parent is asked of the pipe
 * that only it reads.
 */
static int die_with_parent(const struct spawn *spawn, struct error *err)
{
	struct pollfd poll_fd = { .fd = spawn->report_fd };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_set(err, errno, "parent death signal");
	if (poll(&poll_fd, 1, 0) != 0)
		return error_set(err, 0, "the parent is gone");
	return 0;
}

static int spawn_prepare(void *ctx, struct error *err)
{
	const struct spawn *spawn = ctx;
	const struct isolate_profile *profile = spawn->profile;
	struct isolate_layers layers = { 0 };
	struct error why = { 0 };
	int entered;

	close_on_exec(spawn->report_fd);
	close_on_exec(spawn->stage.user_fd);
	close_on_exec(spawn->stage.mount_fd);
	/* Inherited from an undumpable parent; maps could not be written. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "dumpable");
	entered =
		spawn->stage.mount_fd >= 0
			? namespaces_join(profile, &spawn->stage, &layers, &why)
			: namespaces_try(profile, profile->namespaces, &layers,
					 &why);
	if (layers.namespaces && (profile->namespaces & ISOLATE_PID) &&
	    clone_init(spawn, err) < 0)
		return -1;
	/* A stage that was made and cannot be entered is no weak kernel. */
	if (entered < 0 && spawn->stage.mount_fd >= 0) {
		*err = why;
		return -1;
	}
	if (spawn->spec->prepare &&
	    spawn->spec->prepare(spawn->spec->prepare_ctx, err) < 0)
		return -1;
	if (isolate_early(0, err) < 0 || die_with_parent(spawn, err) < 0 ||
	    isolate_landlock(profile, &layers, &why, err) < 0)
		return -1;
	return seccomp_filter_load(profile, err);
}

/* The caller's descriptors, and ours at the numbers above them. */
static struct child_fd *add_stage_fds(const struct child_spec *spec,
				      const struct isolate_stage *stage,
				      int report_fd, struct spawn *spawn,
				      size_t *count)
{
	struct child_fd *fds =
		xcalloc(spec->fd_count + STAGE_FDS, sizeof(*fds));
	size_t n = spec->fd_count;
	int next = 3;

	for (size_t i = 0; i < n; i++) {
		fds[i] = spec->fds[i];
		if (fds[i].to >= next)
			next = fds[i].to + 1;
	}
	spawn->report_fd = next++;
	fds[n++] = (struct child_fd){ report_fd, spawn->report_fd };
	if (stage && stage->mount_fd >= 0) {
		spawn->stage = *stage;
		spawn->stage.user_fd = next++;
		fds[n++] = (struct child_fd){ stage->user_fd,
					      spawn->stage.user_fd };
		spawn->stage.mount_fd = next++;
		fds[n++] = (struct child_fd){ stage->mount_fd,
					      spawn->stage.mount_fd };
	}
	*count = n;
	return fds;
}

/* The second child, if there is one, takes the place of the first. */
static int take_init(int report_fd, struct child *child, struct error *err)
{
	pid_t pid = 0;
	ssize_t n = read(report_fd, &pid, sizeof(pid));
	int status, pidfd;

	if (n != sizeof(pid))
		return 0;
	if (child_wait(child, &status, err) < 0)
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		error_set(err, errno, "pidfd");
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1;
	}
	child->pid = pid;
	child->pidfd = pidfd;
	return 0;
}

/* child_spawn() reaped the first child; the second has nobody else. */
static void reap_init(int report_fd)
{
	pid_t pid = 0;

	if (read(report_fd, &pid, sizeof(pid)) != sizeof(pid))
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int isolate_spawn(const struct isolate_profile *profile,
		  const struct isolate_stage *stage,
		  const struct child_spec *spec, struct child *child,
		  struct error *err)
{
	struct spawn spawn = {
		.profile = profile,
		.spec = spec,
		.stage = ISOLATE_STAGE_NONE,
	};
	AUTO_FREE struct child_fd *fds = NULL;
	AUTO_CLOSE int report_read = -1;
	struct child_spec confined = *spec;
	int report[2], spawned;

	if (pipe2(report, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	report_read = report[0];
	fds = add_stage_fds(spec, stage, report[1], &spawn, &confined.fd_count);
	confined.fds = fds;
	/* Done in spawn_prepare(), where it can be about the right process. */
	confined.flags &= ~(unsigned)CHILD_DIE_WITH_US;
	confined.prepare = spawn_prepare;
	confined.prepare_ctx = &spawn;
	spawned = child_spawn(&confined, child, err);
	close(report[1]);
	if (spawned < 0) {
		reap_init(report_read);
		return error_prefix(err, "%s", profile->name);
	}
	return take_init(report_read, child, err);
}

/* --- staging --- */

static _Noreturn void stage_child(const struct isolate_profile *profile,
				  int report_fd, int wait_fd)
{
	struct isolate_layers layers = { 0 };
	struct error why = { 0 };
	char done = 'n', end;
	ssize_t n;

	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (namespaces_enter(profile, ISOLATE_MOUNT, &layers, &why) == 0)
		done = 'y';
	n = write(report_fd, &done, 1);
	/* Until the parent holds the namespaces, or is gone. */
	if (n == 1 && done == 'y')
		n = read(wait_fd, &end, 1);
	_exit(n < 0);
}

static int open_of(pid_t pid, const char *what, int flags)
{
	char path[64];

	text_format(path, sizeof(path), "/proc/%d/%s", pid, what);
	return open(path, flags | O_CLOEXEC);
}

static int take_stage(const struct isolate_profile *profile, pid_t pid,
		      struct isolate_stage *stage, struct error *err)
{
	stage->user_fd = open_of(pid, "ns/user", O_RDONLY);
	stage->mount_fd = open_of(pid, "ns/mnt", O_RDONLY);
	if (profile->private_root)
		stage->root_fd = open_of(pid, "root", O_PATH | O_DIRECTORY);
	if (stage->user_fd >= 0 && stage->mount_fd >= 0 &&
	    (stage->root_fd >= 0 || !profile->private_root))
		return 0;
	error_set(err, errno, "%s: staged namespaces", profile->name);
	isolate_stage_release(stage);
	return -1;
}

int isolate_stage(const struct isolate_profile *profile,
		  struct isolate_stage *stage, struct error *err)
{
	int report[2], hold[2], taken = 0;
	char done = 'n';
	pid_t pid;

	*stage = ISOLATE_STAGE_NONE;
	if (pipe2(report, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	if (pipe2(hold, O_CLOEXEC) < 0) {
		close(report[0]);
		close(report[1]);
		return error_set(err, errno, "pipe");
	}
	pid = fork();
	if (pid == 0) {
		close(report[0]);
		close(hold[1]);
		stage_child(profile, report[1], hold[0]);
	}
	close(report[1]);
	close(hold[0]);
	if (pid > 0 && read(report[0], &done, 1) == 1 && done == 'y')
		taken = take_stage(profile, pid, stage, err);
	close(hold[1]);
	close(report[0]);
	if (pid < 0)
		return error_set(err, errno, "fork");
	waitpid(pid, NULL, 0);
	return taken;
}

void isolate_stage_release(struct isolate_stage *stage)
{
	if (stage->user_fd >= 0)
		close(stage->user_fd);
	if (stage->mount_fd >= 0)
		close(stage->mount_fd);
	if (stage->root_fd >= 0)
		close(stage->root_fd);
	*stage = ISOLATE_STAGE_NONE;
}
