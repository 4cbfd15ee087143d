/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_sync.c - what programs wrote to mapped shared files goes to the host
 */
#include "guest/files_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "guest/mount_table.h"

#define SOURCE "bawn"
#define MOUNTS_BYTES_MAX (1U << 20)
#define LIMIT_MS 2000

/* An overlay is on the disk, which is written out anyway. */
static void write_out(const char *path)
{
	AUTO_CLOSE int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct statfs st;

	if (fd < 0 || fstatfs(fd, &st) < 0 || st.f_type != FUSE_SUPER_MAGIC)
		return;
	if (syncfs(fd) < 0)
		log_warn("%s was not written out: %s", path, strerror(errno));
}

static void write_out_all(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MOUNTS_BYTES_MAX);
	struct error err;
	struct slice rest;
	char path[PATH_MAX];

	if (fileio_read(AT_FDCWD, "/proc/self/mountinfo", &text, &err))
		return;
	rest = (struct slice){ (const char *)text.data, text.len };
	while (mount_table_next(&rest, SOURCE, path, sizeof(path)))
		write_out(path);
}

static _Noreturn void serve(int go)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "bawn-sync");
	write_out_all();
	if (read(go, &byte, 1) == 0)
		write_out_all();
	_exit(0);
}

void files_sync_begin(struct files_sync *sync)
{
	int fds[2];

	*sync = (struct files_sync){ .go = -1 };
	if (pipe2(fds, O_CLOEXEC))
		return;
	sync->pid = fork();
	if (sync->pid == 0) {
		close(fds[1]);
		serve(fds[0]);
	}
	close(fds[0]);
	if (sync->pid > 0) {
		sync->go = fds[1];
		return;
	}
	sync->pid = 0;
	close(fds[1]);
}

void files_sync_end(struct files_sync *sync)
{
	struct pollfd ended = { .events = POLLIN };

	if (sync->pid <= 0)
		return;
	ended.fd = (int)syscall(SYS_pidfd_open, sync->pid, 0);
	close(TAKE_FD(sync->go));
	if (ended.fd < 0 || poll(&ended, 1, LIMIT_MS) <= 0) {
		log_warn("shared folders were not written out in time");
		kill(sync->pid, SIGKILL);
	} else {
		waitpid(sync->pid, NULL, 0);
	}
	if (ended.fd >= 0)
		close(ended.fd);
	sync->pid = 0;
}
