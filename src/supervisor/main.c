/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-supervisor: the life of one sandbox, top to bottom
 *
 * Started by the CLI with a connected socket on descriptor 3; outlives it.
 *
 * What wakes the loop:
 *   monitor             answers and events of QEMU      qmp.c
 *   guest channel       frames of bawn-init             guest_link.c
 *   guest console       kernel messages                 console.c
 *   qemu exit, errors   pidfd and stderr                qemu.c
 *   control socket      new clients                     client.c
 *   control connection  requests, session frames        client.c
 *   launcher            shares that cannot be served    launcher.c
 *   host clock          clock was set, ten minutes      sandbox_facts.c
 *   timers              boot, stop, disk space, stalls  sandbox.c, session.c
 *   signals             SIGTERM, SIGINT: suspend        below
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "ipc/control.h"
#include "ipc/start_spec.h"
#include "isolate/isolate.h"
#include "supervisor/files.h"
#include "supervisor/profile.h"
#include "supervisor/sandbox.h"

enum {
	CLI_FD = 3,
	START_LINE_MS = 10000,
	LOG_BYTES_MAX = 4 << 20,
};

/* Nobody else will see it: the CLI waits for an answer on descriptor 3. */
static _Noreturn void die(const struct error *err)
{
	json_t *answer = control_failure(err->code, err->text);
	AUTO_FREE char *line = control_encode_line(answer);

	log_error("%s", err->text);
	if (line && send(CLI_FD, line, strlen(line), MSG_NOSIGNAL) < 0)
		log_debug("the CLI has gone");
	exit(1);
}

/* The start line, and what the CLI sent right behind it. */
static int read_start_line(struct buffer *in, struct start_spec *spec,
			   struct error *err)
{
	uint64_t end_ms = loop_now_ms() + START_LINE_MS;
	char *newline = NULL;
	size_t len;

	while (!newline) {
		struct pollfd poll_fd = { .fd = CLI_FD, .events = POLLIN };
		uint64_t now_ms = loop_now_ms();
		char bytes[16384];
		ssize_t got;

		if (now_ms >= end_ms ||
		    poll(&poll_fd, 1, (int)(end_ms - now_ms)) <= 0)
			return error_set(err, ETIMEDOUT, "start line");
		got = read(CLI_FD, bytes, sizeof(bytes));
		if (got < 0)
			return error_set(err, errno, "start line");
		if (got == 0 || buffer_append(in, bytes, (size_t)got) < 0)
			return error_set(err, 0, "start line: cut");
		newline = memchr(in->data, '\n', in->len);
	}
	len = (size_t)(newline - (char *)in->data);
	if (start_spec_decode((char *)in->data, len, spec, err) < 0)
		return -1;
	buffer_consume(in, len + 1);
	return 0;
}

static int check_spec(const struct start_spec *spec, struct error *err)
{
	if (spec->disk_count < 2)
		return error_set(err, EINVAL, "start line: too few disks");
	if (spec->goal != START_RESTORE &&
	    (!spec->kernel || !spec->initramfs || !spec->append))
		return error_set(err, EINVAL, "start line: no kernel");
	if (spec->goal != START_COLD && (!spec->ram || !spec->device_state))
		return error_set(err, EINVAL, "start line: no memory image");
	if (!spec->ram_shim || !spec->cpus || !spec->memory_mib ||
	    !spec->boot_timeout_ms)
		return error_set(err, EINVAL, "start line: incomplete");
	return 0;
}

/*
 * The order is that of qemu_profile.h: QEMU's private root is staged while
 * mounts are still possible; then we give up every path but the sandbox's
 * folder and what QEMU must read; then QEMU starts, beneath all that. lock()
 * later gives up every system call that the loop does not need, before the
 * first byte of QEMU or the guest is read.
 */
static int confine_and_spawn(struct sandbox *sandbox, struct error *err)
{
	const struct start_spec *spec = sandbox->spec;
	struct isolate_path paths[QEMU_PROFILE_PATHS + 2] = { 0 };
	struct isolate_profile profile = {
		.name = "bawn-supervisor",
		.namespaces = ISOLATE_NET | ISOLATE_IPC,
		.paths = paths,
	};
	size_t i = 0;

	if (geteuid() == 0 && spec->uid &&
	    isolate_drop_to(spec->uid, spec->gid, profile.namespaces, err) < 0)
		return -1;
	if (isolate_early(0, err) < 0 ||
	    qemu_prepare(&sandbox->qemu, spec, &sandbox->files->qemu, err) < 0)
		return -1;
	paths[i++] = (struct isolate_path){ .fd = sandbox->files->folder,
					    .access = ISOLATE_WRITE };
	/* maps and pagemap of QEMU, which has no number yet: ram_image.c.
	 * Landlock itself guards those of processes that are not beneath us. */
	paths[i++] = (struct isolate_path){ .path = "/proc",
					    .fd = -1,
					    .access = ISOLATE_READ };
	for (size_t q = 0; q < QEMU_PROFILE_PATHS; q++) {
		paths[i++] = sandbox->qemu.profile.paths[q];
		if (!paths[i - 1].path && paths[i - 1].fd < 0)
			break;
	}
	if (isolate_paths(&profile, err) < 0)
		return -1;
	phases_end(&sandbox->phases, "isolate");
	if (qemu_spawn(&sandbox->qemu, spec, &sandbox->files->qemu, err) < 0)
		return -1;
	launcher_ports_passed(&sandbox->launcher);
	phases_end(&sandbox->phases, "spawn");
	return 0;
}

static int lock(struct sandbox *sandbox, struct error *err)
{
	const struct isolate_profile profile = {
		.name = "bawn-supervisor",
		.syscalls = profile_syscalls,
		.syscalls_enosys = profile_syscalls_enosys,
		.arguments = profile_arguments,
		.refusals = profile_refusals,
	};

	if (isolate_syscalls(&profile, err) < 0)
		return -1;
	phases_end(&sandbox->phases, "lock");
	return 0;
}

static void on_signal(void *ctx, const struct signalfd_siginfo *info)
{
	struct sandbox *sandbox = ctx;

	log_info("signal %u", info->ssi_signo);
	saving_or_power_off(sandbox);
}

static int watch_signals(struct sandbox *sandbox, struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	return loop_signals(sandbox->loop, &set, on_signal, sandbox, err);
}

static void open_log(const struct start_spec *spec, const struct files *files)
{
	log_identity("bawn-supervisor", spec->name);
	log_to(files->log);
	log_max(LOG_BYTES_MAX);
	log_timestamps(true);
	if (getenv("BAWN_DEBUG"))
		log_level_set(LOG_LEVEL_TRACE);
	else
		log_level_set(LOG_LEVEL_INFO);
}

int main(void)
{
	AUTO_BUFFER struct buffer in = BUFFER_INIT(2 * CONTROL_LINE_MAX);
	static struct sandbox sandbox;
	struct start_spec spec = { 0 };
	struct files files;
	struct error err = { 0 };
	bool failed;

	log_identity("bawn-supervisor", NULL);
	phases_begin(&sandbox.phases);
	umask(077);
	if (fcntl(CLI_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    read_start_line(&in, &spec, &err) < 0 ||
	    check_spec(&spec, &err) < 0)
		die(&err);
	if (files_open(&spec, &files, &err) < 0)
		die(&err);
	open_log(&spec, &files);
	/* Whoever started us may want to unmount or remove where he stood. */
	if (chdir("/") < 0)
		log_debug("/: %s", strerror(errno));
	sandbox.spec = &spec;
	sandbox.files = &files;
	sandbox.loop = loop_new(&err);
	if (!sandbox.loop || watch_signals(&sandbox, &err) < 0)
		die(&err);
	/* Before any isolation: what it starts must not inherit ours. */
	if (launcher_open(&sandbox.launcher, &spec, files.log, &err) < 0)
		die(&err);
	files.qemu.files_port = sandbox.launcher.qemu_ports[LAUNCHER_FILES];
	files.qemu.net_port = sandbox.launcher.qemu_ports[LAUNCHER_NET];
	files.qemu.slots = sandbox.launcher.qemu_slots;
	files.qemu.to_guest = sandbox.launcher.qemu_to_guest;
	files.qemu.from_guest = sandbox.launcher.qemu_from_guest;
	files.qemu.bell = sandbox.launcher.qemu_bell;
	phases_end(&sandbox.phases, "open");

	if (confine_and_spawn(&sandbox, &err) < 0 ||
	    sandbox_facts_open(&sandbox, &err) < 0 ||
	    !clients_add(&sandbox.clients, CLI_FD, in.data, in.len, &err) ||
	    lock(&sandbox, &err) < 0)
		die(&err);
	if (loop_run(sandbox.loop, &err) < 0)
		die(&err);

	failed = sandbox.failed;
	sandbox_facts_close(&sandbox);
	loop_free(sandbox.loop);
	files_close(&files);
	start_spec_release(&spec);
	return failed;
}
