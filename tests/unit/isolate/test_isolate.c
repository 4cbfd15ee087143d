/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_isolate.c - each layer, tried by a child that has it
 */
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "isolate_test.h"

/* --- capabilities and identity --- */

static int early_body(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[2];
	struct error err = { 0 };
	struct rlimit core;

	if (isolate_early(ISOLATE_UNDUMPABLE, &err) < 0 ||
	    syscall(SYS_capget, &header, sets) < 0 ||
	    getrlimit(RLIMIT_CORE, &core) < 0)
		return BROKEN;
	if (sets[0].permitted || sets[1].permitted || sets[0].effective ||
	    sets[0].inheritable)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || core.rlim_max != 0)
		return 2;
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
}

static void the_early_step_leaves_no_capability_and_no_core(void)
{
	CHECK(confinement_child(early_body) == 0);
}

static int drop_body(void)
{
	struct error err = { 0 };

	if (isolate_drop_to(ORDINARY, ORDINARY + 1, ISOLATE_NET | ISOLATE_IPC,
			    &err) < 0)
		return BROKEN;
	if (getuid() != ORDINARY || getegid() != ORDINARY + 1 ||
	    getgroups(0, NULL) != 0)
		return 1;
	return setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0;
}

static void a_dropped_root_has_no_way_back(void)
{
	CHECK(confinement_child(drop_body) == 0);
}

static int drop_to_root_body(void)
{
	struct error err = { 0 };

	return isolate_drop_to(0, 0, 0, &err) == 0;
}

static void dropping_to_root_is_refused(void)
{
	CHECK(confinement_child(drop_to_root_body) == 0);
}

/* --- namespaces --- */

static int network_body(void)
{
	struct isolate_profile with = profile();
	struct error err = { 0 };
	struct if_nameindex *found;
	int count = 0;

	with.namespaces = ISOLATE_NET | ISOLATE_IPC | ISOLATE_UTS;
	if (begin() < 0 || isolate_paths(&with, &err) < 0)
		return BROKEN;
	found = if_nameindex();
	while (found && found[count].if_index)
		count++;
	return count == 1 && strcmp(found[0].if_name, "lo") == 0 ? 0 : 1;
}

static void a_network_namespace_has_nothing_but_loopback(void)
{
	CHECK(confinement_child(network_body) == 0);
}

static int own_uid_body(void)
{
	uid_t before;
	struct isolate_profile with = profile();
	struct error err = { 0 };

	with.namespaces = ISOLATE_NET;
	if (begin() < 0)
		return BROKEN;
	before = getuid();
	if (isolate_paths(&with, &err) < 0)
		return BROKEN;
	return getuid() != before;
}

static void the_uid_inside_is_the_uid_outside(void)
{
	CHECK(confinement_child(own_uid_body) == 0);
}

/* --- system calls --- */

static int after_lock(long (*call)(void))
{
	struct isolate_profile with = profile();
	long result;

	if (begin() < 0 || lock(&with) < 0)
		return BROKEN;
	result = call();
	return result >= 0 ? 0 : errno == ENOSYS ? ENOSYS : REFUSED;
}

#define CALL_BODY(name, ...)                    \
	static long name##_call(void)           \
	{                                       \
		return syscall(__VA_ARGS__);    \
	}                                       \
	static int name##_body(void)            \
	{                                       \
		return after_lock(name##_call); \
	}

CALL_BODY(socket, SYS_socket, AF_INET, SOCK_STREAM, 0)
CALL_BODY(socket_inet6, SYS_socket, AF_INET6, SOCK_DGRAM, 0)
CALL_BODY(socket_good, SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)
CALL_BODY(execve, SYS_execve, "/usr/bin/true", NULL, NULL)
CALL_BODY(mount, SYS_mount, "none", "/tmp", "tmpfs", 0, NULL)
CALL_BODY(ptrace, SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)
CALL_BODY(unshare, SYS_unshare, CLONE_NEWUSER)
CALL_BODY(new_user, SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0L)
CALL_BODY(clone3, SYS_clone3, NULL, 0)
CALL_BODY(io_uring, SYS_io_uring_setup, 8, NULL)
CALL_BODY(get_name, SYS_prctl, PR_GET_NAME, folder, 0, 0, 0)
CALL_BODY(set_dumpable, SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0)
CALL_BODY(signal_other, SYS_tgkill, 1, 1, 0)

static void a_call_that_is_not_listed_kills(void)
{
	CHECK(confinement_child(socket_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(execve_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(mount_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(ptrace_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(unshare_body) == KILLED_BY_SECCOMP);
}

static void a_clone_into_a_namespace_kills_and_clone3_does_not_exist(void)
{
	CHECK(confinement_child(new_user_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(clone3_body) == ENOSYS);
}

static void a_probed_call_does_not_exist(void)
{
	CHECK(confinement_child(io_uring_body) == ENOSYS);
}

static void a_call_passes_with_the_listed_argument_only(void)
{
	CHECK(confinement_child(get_name_body) == 0);
	CHECK(confinement_child(set_dumpable_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(signal_other_body) == KILLED_BY_SECCOMP);
}

CALL_BODY(socket_unix, SYS_socket, AF_UNIX, SOCK_STREAM, 0)

static void a_refused_argument_is_an_error_and_others_kill(void)
{
	CHECK(confinement_child(socket_unix_body) == REFUSED);
	CHECK(confinement_child(socket_body) == KILLED_BY_SECCOMP);
}

static void arguments_that_belong_together_pass_together_only(void)
{
	CHECK(confinement_child(socket_good_body) == 0);
	CHECK(confinement_child(socket_body) == KILLED_BY_SECCOMP);
	CHECK(confinement_child(socket_inet6_body) == KILLED_BY_SECCOMP);
}

static void *thread_main(void *ran)
{
	*(int *)ran = 1;
	return NULL;
}

static int thread_body(void)
{
	struct isolate_profile with = profile();
	pthread_t thread;
	int ran = 0;

	if (begin() < 0 || lock(&with) < 0)
		return BROKEN;
	if (pthread_create(&thread, NULL, thread_main, &ran) != 0)
		return 1;
	pthread_join(thread, NULL);
	return !ran;
}

static void threads_start_without_clone3(void)
{
	CHECK(confinement_child(thread_body) == 0);
}

/* --- the ladder --- */

static void this_machine_has_a_rung(void)
{
	struct isolate_report report;

	isolate_probe(&report);
	printf("# %s, Landlock version %d %s %s\n",
	       isolate_rung(&report) ? isolate_rung(&report) : "nothing",
	       report.landlock_abi, report.why_no_namespaces,
	       report.why_no_landlock);
	CHECK(report.seccomp);
	CHECK(isolate_rung(&report) != NULL);
}

static void each_rung_has_its_name_and_too_little_has_none(void)
{
	struct isolate_report report = { .user_namespaces = true,
					 .landlock = true,
					 .seccomp = true };

	CHECK(strcmp(isolate_rung(&report), "namespaces+Landlock+seccomp") ==
	      0);
	report.user_namespaces = false;
	CHECK(strcmp(isolate_rung(&report), "Landlock+seccomp") == 0);
	report.user_namespaces = true;
	report.landlock = false;
	CHECK(strcmp(isolate_rung(&report),
		     "namespaces+private root+seccomp") == 0);
	report.seccomp = false;
	CHECK(isolate_rung(&report) == NULL);
	report.seccomp = true;
	report.user_namespaces = false;
	CHECK(isolate_rung(&report) == NULL);
}

static int refused_body(void)
{
	struct isolate_report report;

	if (begin() < 0 || !confinement_refuse_namespaces())
		return BROKEN;
	isolate_probe(&report);
	if (report.user_namespaces || !strstr(report.why_no_namespaces, "max_"))
		return 1;
	return !isolate_rung(&report) ||
	       strcmp(isolate_rung(&report), "Landlock+seccomp") != 0;
}

static void refused_namespaces_are_explained_and_landlock_remains(void)
{
	CHECK(confinement_child(refused_body) == 0);
}

static int refused_lock_body(void)
{
	const struct isolate_path paths[] = {
		{ folder, -1, ISOLATE_READ },
		NO_PATHS,
	};
	struct isolate_profile with = profile();
	uid_t before;
	int fd;

	with.paths = paths;
	with.private_root = true;
	with.namespaces = ISOLATE_NET | ISOLATE_MOUNT | ISOLATE_IPC;
	if (begin() < 0 || !confinement_refuse_namespaces())
		return BROKEN;
	before = getuid();
	if (lock(&with) < 0)
		return BROKEN;
	fd = open(file_in_folder, O_RDONLY);
	if (fd < 0 || getuid() != before)
		return 1;
	return open("/etc/passwd", O_RDONLY) < 0 ? 0 : 2;
}

static void a_process_without_namespaces_is_still_locked(void)
{
	CHECK(confinement_child(refused_lock_body) == 0);
}

static void run_all(void)
{
	struct isolate_report report;

	isolate_probe(&report);
	RUN(this_machine_has_a_rung);
	RUN(each_rung_has_its_name_and_too_little_has_none);
	RUN(the_early_step_leaves_no_capability_and_no_core);
	RUN(dropping_to_root_is_refused);
	if (geteuid() == 0)
		RUN(a_dropped_root_has_no_way_back);
	else
		SKIP(a_dropped_root_has_no_way_back, "needs root");
	RUN(a_call_that_is_not_listed_kills);
	RUN(a_clone_into_a_namespace_kills_and_clone3_does_not_exist);
	RUN(a_probed_call_does_not_exist);
	RUN(a_call_passes_with_the_listed_argument_only);
	RUN(a_refused_argument_is_an_error_and_others_kill);
	RUN(arguments_that_belong_together_pass_together_only);
	RUN(threads_start_without_clone3);
	if (report.user_namespaces) {
		RUN(a_network_namespace_has_nothing_but_loopback);
		RUN(the_uid_inside_is_the_uid_outside);
	} else {
		SKIP(namespaces, "this kernel refuses user namespaces");
	}
	if (report.user_namespaces && report.landlock) {
		RUN(refused_namespaces_are_explained_and_landlock_remains);
		RUN(a_process_without_namespaces_is_still_locked);
	} else {
		SKIP(refused_namespaces, "needs namespaces and Landlock");
	}
}

int main(void)
{
	if (CONFINEMENT_SANITIZED) {
		SKIP(isolate, CONFINEMENT_SANITIZED_WHY);
		return DONE();
	}
	if (make_folder() < 0) {
		perror("folder");
		return 1;
	}
	run_all();
	remove_folder();
	return DONE();
}
