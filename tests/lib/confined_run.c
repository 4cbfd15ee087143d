/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confined_run.c - a program in QEMU's place, as the supervisor starts QEMU
 *
 * confined_run [-l] [-k] [-r] [-u UID] -s SHIM [-f SHIM_FILES] [-d FD,FD...] --
 * PROGRAM ARG... -l  this process locks itself (Landlock) first, as the
 * supervisor does -k  with the rules for KVM -r  only tell whether the
 * program's memory may be read from here -u  uid and gid to drop to (for root)
 * Prints "pid N" on standard error and ends as the program did.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "isolate/isolate.h"
#include "supervisor/qemu_profile.h"

#define FDS_MAX 48

struct options {
	bool lock, read_memory;
	enum start_accel accel;
	unsigned uid;
	const char *shim, *files;
	struct child_fd fds[FDS_MAX];
	size_t fd_count;
	char **argv;
};

static void add_fd(struct options *options, int fd)
{
	if (options->fd_count < FDS_MAX)
		options->fds[options->fd_count++] = (struct child_fd){ fd, fd };
}

static void parse_fds(struct options *options, const char *text)
{
	char *end;

	while (*text) {
		add_fd(options, (int)strtol(text, &end, 10));
		text = *end ? end + 1 : end;
	}
}

static int parse(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+lkrs:f:d:u:")) >= 0) {
		switch (option) {
		case 'l':
			options->lock = true;
			break;
		case 'k':
			options->accel = START_ACCEL_KVM;
			break;
		case 'r':
			options->read_memory = true;
			break;
		case 's':
			options->shim = optarg;
			break;
		case 'f':
			options->files = optarg;
			break;
		case 'd':
			parse_fds(options, optarg);
			break;
		case 'u':
			options->uid = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			return -1;
		}
	}
	options->argv = argv + optind;
	return options->shim && options->argv[0] ? 0 : -1;
}

/* Nothing is mapped at 1: EFAULT says that we were let in. */
static bool may_read(pid_t pid)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)1, 1 };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 &&
	       errno == EFAULT;
}

static int run(const struct options *options, struct error *err)
{
	struct qemu_profile_args args = {
		.argv = (const char *const *)options->argv,
		.fds = options->fds,
		.fd_count = options->fd_count,
		.shim_files = options->files,
	};
	struct isolate_profile own = {
		.name = "confined_run",
		.namespaces = ISOLATE_NET | ISOLATE_IPC,
	};
	struct qemu_profile profile;
	struct child child;
	int status, shim;

	shim = open(options->shim, O_RDONLY | O_CLOEXEC);
	if (shim < 0)
		return error_set(err, errno, "%s", options->shim);
	if (options->uid && isolate_drop_to(options->uid, options->uid,
					    ISOLATE_NET | ISOLATE_IPC, err) < 0)
		return -1;
	if (isolate_early(0, err) < 0 ||
	    qemu_profile_open(&profile, options->argv[0], shim, options->accel,
			      err) < 0)
		return -1;
	own.paths = profile.paths;
	if (options->lock && isolate_paths(&own, err) < 0)
		return -1;
	if (qemu_profile_spawn(&profile, &args, &child, err) < 0)
		return -1;
	qemu_profile_release(&profile);
	fprintf(stderr, "pid %d\n", (int)child.pid);
	if (options->read_memory)
		return may_read(child.pid) ? 0 : 1;
	if (child_wait(&child, &status, err) < 0)
		return -1;
	return child_exit_code(status);
}

int main(int argc, char **argv)
{
	struct options options = { .accel = START_ACCEL_TCG };
	struct error err = { 0 };
	int code;

	add_fd(&options, 1);
	add_fd(&options, 2);
	if (parse(&options, argc, argv) < 0) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	code = run(&options, &err);
	if (code < 0) {
		fprintf(stderr, "confined_run: %s\n", err.text);
		return 125;
	}
	return code;
}
