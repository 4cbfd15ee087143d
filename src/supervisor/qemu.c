/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu.c - starting and watching the emulator's process
 */
#include "supervisor/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

enum {
	ERROR_LINE_MAX = 1024,
	FDS_MAX = 17 + START_DISKS_MAX,
};

struct fd_list {
	struct child_fd list[FDS_MAX];
	size_t count;
};

static void pass(struct fd_list *fds, int from, int to)
{
	if (from >= 0)
		fds->list[fds->count++] = (struct child_fd){ from, to };
}

int qemu_prepare(struct qemu *qemu, const struct start_spec *spec,
		 const struct qemu_files *files, struct error *err)
{
	*qemu = (struct qemu){
		.child = { 0, -1 },
		.monitor = -1,
		.control = -1,
		.console = -1,
		.errors = -1,
		.error_line = BUFFER_INIT(ERROR_LINE_MAX),
	};
	return qemu_profile_open(&qemu->profile, spec->qemu, files->shim,
				 spec->accel, err);
}

static int channel(int *ours, int *theirs, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "socketpair");
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

static void shim_files(const struct qemu_files *files, char *text, size_t size)
{
	const struct {
		const char *name;
		int fd, number;
	} table[] = {
		{ "ram", files->ram, QEMU_FD_RAM },
		{ "slots", files->slots, QEMU_FD_SLOTS },
		{ "to-guest", files->to_guest, QEMU_FD_TO_GUEST },
		{ "from-guest", files->from_guest, QEMU_FD_FROM_GUEST },
		{ "kernel", files->kernel, QEMU_FD_KERNEL },
		{ "initrd", files->initramfs, QEMU_FD_INITRD },
		{ "kvm", files->kvm, QEMU_FD_KVM },
	};
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].fd < 0)
			continue;
		text_format(text + len, size - len, "%s%s=%d", len ? "," : "",
			    table[i].name, table[i].number);
		len = strlen(text);
	}
}

static void pass_files(struct fd_list *fds, const struct start_spec *spec,
		       const struct qemu_files *files)
{
	pass(fds, files->ram, QEMU_FD_RAM);
	pass(fds, files->kernel, QEMU_FD_KERNEL);
	pass(fds, files->initramfs, QEMU_FD_INITRD);
	pass(fds, files->kvm, QEMU_FD_KVM);
	pass(fds, files->files_port, QEMU_FD_FILES);
	pass(fds, files->net_port, QEMU_FD_NET);
	pass(fds, files->slots, QEMU_FD_SLOTS);
	pass(fds, files->to_guest, QEMU_FD_TO_GUEST);
	pass(fds, files->from_guest, QEMU_FD_FROM_GUEST);
	pass(fds, files->bell, QEMU_FD_BELL);
	/* What is being made is handed over later, through the monitor. */
	if (spec->goal == START_RESTORE)
		pass(fds, files->device_state, QEMU_FD_STATE);
	for (unsigned i = 0; i < spec->disk_count; i++)
		pass(fds, files->disks[i], QEMU_FD_DISK + (int)i);
	pass(fds, files->spool, QEMU_FD_SPOOL);
}

int qemu_spawn(struct qemu *qemu, const struct start_spec *spec,
	       const struct qemu_files *files, struct error *err)
{
	AUTO_CLOSE int monitor = -1, control = -1, console = -1, errors = -1;
	struct fd_list fds = { .count = 0 };
	struct qemu_profile_args args = { 0 };
	char shim[192];
	char **argv;
	int result;

	if (channel(&qemu->monitor, &monitor, err) < 0 ||
	    channel(&qemu->control, &control, err) < 0 ||
	    channel(&qemu->console, &console, err) < 0 ||
	    channel(&qemu->errors, &errors, err) < 0)
		return -1;
	pass(&fds, errors, 2);
	pass(&fds, monitor, QEMU_FD_MONITOR);
	pass(&fds, control, QEMU_FD_CONTROL);
	pass(&fds, console, QEMU_FD_CONSOLE);
	pass_files(&fds, spec, files);
	shim_files(files, shim, sizeof(shim));
	argv = qemu_argv(spec);
	args = (struct qemu_profile_args){
		.argv = (const char *const *)argv,
		.fds = fds.list,
		.fd_count = fds.count,
		.shim_files = shim[0] ? shim : NULL,
	};
	result = qemu_profile_spawn(&qemu->profile, &args, &qemu->child, err);
	qemu_argv_free(argv);
	return result < 0 ? error_prefix(err, "%s", spec->qemu) : 0;
}

static void complain(struct qemu *qemu)
{
	if (!qemu->error_line.len)
		return;
	text_printable((const char *)qemu->error_line.data,
		       qemu->error_line.len, qemu->last_error,
		       sizeof(qemu->last_error));
	log_limited(LOG_LEVEL_WARN, "qemu: %s", qemu->last_error);
	buffer_consume(&qemu->error_line, qemu->error_line.len);
}

static void on_errors(struct source *source, uint32_t events)
{
	struct qemu *qemu = CONTAINER_OF(source, struct qemu, error_source);
	char bytes[1024];
	ssize_t got = read(source->fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		complain(qemu);
		loop_del(source);
		return;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] == '\n')
			complain(qemu);
		else if (buffer_append(&qemu->error_line, &bytes[i], 1) < 0)
			complain(qemu);
	}
}

static void on_exit_event(struct source *source, uint32_t events)
{
	struct qemu *qemu = CONTAINER_OF(source, struct qemu, exit_source);
	struct error err;
	int status = 0;

	/* Its last words first: they say why it ended. */
	for (int i = 0; i < 16 && qemu->error_source.loop; i++)
		on_errors(&qemu->error_source, EPOLLIN);
	loop_del(source);
	if (child_wait(&qemu->child, &status, &err) < 0)
		log_error("qemu: %s", err.text);
	qemu->child = (struct child){ 0, -1 };
	qemu->ops->on_exit(qemu->ctx, status);
}

int qemu_watch(struct qemu *qemu, struct loop *loop, const struct qemu_ops *ops,
	       void *ctx, struct error *err)
{
	qemu->ops = ops;
	qemu->ctx = ctx;
	qemu->exit_source = (struct source){ .name = "qemu exit",
					     .fd = qemu->child.pidfd,
					     .events = EPOLLIN,
					     .on_event = on_exit_event };
	qemu->error_source = (struct source){ .name = "qemu errors",
					      .fd = qemu->errors,
					      .events = EPOLLIN,
					      .on_event = on_errors };
	if (fcntl(qemu->errors, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "qemu errors");
	if (loop_add(loop, &qemu->exit_source, err) < 0 ||
	    loop_add(loop, &qemu->error_source, err) < 0)
		return -1;
	return 0;
}

bool qemu_runs(const struct qemu *qemu)
{
	return qemu->child.pid > 0;
}

void qemu_kill(struct qemu *qemu)
{
	if (qemu_runs(qemu))
		syscall(SYS_pidfd_send_signal, qemu->child.pidfd, SIGKILL, NULL,
			0);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void qemu_release(struct qemu *qemu)
{
	loop_del(&qemu->exit_source);
	loop_del(&qemu->error_source);
	close_end(&qemu->monitor);
	close_end(&qemu->control);
	close_end(&qemu->console);
	close_end(&qemu->errors);
	buffer_release(&qemu->error_line);
	qemu_profile_release(&qemu->profile);
}
