/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - what this kernel allows, found out by doing it in a child
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

/* Root's sandboxes run as uids of this range, so the probe does too. */
#define PROBE_ID 1879048191

static _Noreturn void trial_child(isolate_trial_fn *trial,
				  const struct isolate_profile *profile,
				  int report_fd)
{
	struct error err = { 0 };
	ssize_t n;

	if (trial(profile, &err) == 0)
		_exit(0);
	n = write(report_fd, &err, sizeof(err));
	_exit(n > 0 ? 1 : 2);
}

/* Not by child_spawn(): there is nothing to exec. */
int isolate_trial(isolate_trial_fn *trial,
		  const struct isolate_profile *profile, struct error *err)
{
	AUTO_CLOSE int report_read = -1;
	struct error report = { 0 };
	int ends[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	report_read = ends[0];
	pid = fork();
	if (pid == 0)
		trial_child(trial, profile, ends[1]);
	close(ends[1]);
	if (pid < 0)
		return error_set(err, errno, "fork");
	do
		n = read(report_read, &report, sizeof(report));
	while (n < 0 && errno == EINTR);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (n != sizeof(report))
		return error_set(err, 0, "a trial ended with status %d",
				 status);
	*err = report;
	return -1;
}

/* As a sandbox's processes would: without root. */
static int become_ordinary(struct error *err)
{
	if (geteuid() == 0 && isolate_drop_to(PROBE_ID, PROBE_ID, 0, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "no_new_privs");
	return 0;
}

static int try_namespaces(const struct isolate_profile *profile,
			  struct error *err)
{
	struct isolate_layers layers = { 0 };

	if (become_ordinary(err) < 0)
		return -1;
	return namespaces_enter(profile, profile->namespaces, &layers, err);
}

static int try_landlock(const struct isolate_profile *profile,
			struct error *err)
{
	if (become_ordinary(err) < 0)
		return -1;
	return landlock_restrict(profile, err);
}

static int try_seccomp(const struct isolate_profile *profile, struct error *err)
{
	if (become_ordinary(err) < 0)
		return -1;
	return seccomp_filter_load(profile, err);
}

static bool file_says(const char *path, char value)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char first = 0;

	return fd >= 0 && read(fd, &first, 1) == 1 && first == value;
}

/* The kernel's EPERM says nothing; the switches that cause it do. */
static void explain_namespaces(const char *reason, char *why, size_t size)
{
	const char *cause = "";

	if (file_says("/proc/sys/user/max_user_namespaces", '0'))
		cause = " (sysctl user.max_user_namespaces is 0)";
	else if (file_says("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		cause = " (sysctl kernel.unprivileged_userns_clone is 0)";
	else if (file_says("/proc/sys/kernel/"
			   "apparmor_restrict_unprivileged_userns",
			   '1'))
		cause = " (AppArmor restricts them)";
	text_format(why, size, "%s%s", reason, cause);
}

void isolate_probe(struct isolate_report *report)
{
	static const struct isolate_path paths[] = {
		{ "/usr", -1, ISOLATE_READ },
		{ NULL, -1, 0 },
	};
	static const char *const syscalls[] = { "exit_group", "write", NULL };
	static const struct isolate_profile profile = {
		.name = "probe",
		.namespaces = ISOLATE_NET | ISOLATE_IPC | ISOLATE_PID |
			      ISOLATE_MOUNT | ISOLATE_UTS,
		.paths = paths,
		.private_root = true,
		.syscalls = syscalls,
	};
	struct error err = { 0 };

	*report = (struct isolate_report){ 0 };
	if (isolate_trial(try_namespaces, &profile, &err) == 0)
		report->user_namespaces = true;
	else
		explain_namespaces(err.text, report->why_no_namespaces,
				   sizeof(report->why_no_namespaces));
	report->landlock_abi = landlock_abi();
	if (isolate_trial(try_landlock, &profile, &err) == 0)
		report->landlock = true;
	else
		text_copy(report->why_no_landlock,
			  sizeof(report->why_no_landlock), err.text);
	report->seccomp = isolate_trial(try_seccomp, &profile, &err) == 0;
}
