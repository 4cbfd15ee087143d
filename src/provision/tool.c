/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.c - programs of the system and of ours that provisioning runs
 */
#include "provision/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

#define TICK_MS 200
#define LINE_WINDOW 4096

const char *const *tool_env(void)
{
	static const char *const passed[] = {
		"http_proxy", "https_proxy", "ftp_proxy", "no_proxy",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	};
	static const char *env[ARRAY_SIZE(passed) + 5] = {
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8",
		"HOME=/nonexistent",
		"DEBIAN_FRONTEND=noninteractive",
	};
	static size_t count;

	if (count)
		return env;
	count = 4;
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		if (getenv(passed[i]))
			env[count++] = xasprintf("%s=%s", passed[i],
						 getenv(passed[i]));
	return env;
}

void tool_last_line(int log_fd, char *line, size_t size)
{
	char window[LINE_WINDOW + 1];
	off_t end = lseek(log_fd, 0, SEEK_END);
	off_t from = end > LINE_WINDOW ? end - LINE_WINDOW : 0;
	ssize_t got = pread(log_fd, window, LINE_WINDOW, from);
	char *start;

	text_copy(line, size, "");
	if (got <= 0)
		return;
	while (got > 0 && strchr("\n\r \t", window[got - 1]))
		got--;
	window[got] = '\0';
	start = strrchr(window, '\n');
	start = start ? start + 1 : window;
	text_printable(start, strlen(start), line, size);
}

int tool_wait(struct child *child, const char *name, int log_fd,
	      tool_tick_fn *tick, void *ctx, struct error *err)
{
	struct pollfd wait = { .fd = child->pidfd, .events = POLLIN };
	char line[300];
	int status;

	while (tick && poll(&wait, 1, TICK_MS) == 0)
		tick(ctx);
	if (child_wait(child, &status, err) < 0)
		return -1;
	if (child_exit_code(status) == 0)
		return 0;
	tool_last_line(log_fd, line, sizeof(line));
	if (line[0])
		return error_set(err, 0, "%s: %s", name, line);
	return error_set(err, 0, "%s: failed with code %d", name,
			 child_exit_code(status));
}

static int enter_folder(void *ctx, struct error *err)
{
	int fd = *(int *)ctx;

	if (fd >= 0 && (fchdir(fd) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0))
		return error_set(err, errno, "fchdir");
	return 0;
}

int tool_run(const char *const *argv, int folder_fd, tool_tick_fn *tick,
	     void *ctx, struct error *err)
{
	AUTO_CLOSE int log = memfd_create("tool log", MFD_CLOEXEC);
	const char *path = child_tool(argv[0], err);
	/* The folder's descriptor must survive until prepare has run. */
	struct child_fd fds[] = { { log, 1 }, { log, 2 }, { folder_fd, 3 } };
	int inherited = folder_fd >= 0 ? 3 : -1;
	struct child_spec spec = {
		.path = path,
		.argv = argv,
		.env = tool_env(),
		.fds = fds,
		.fd_count = folder_fd >= 0 ? 3 : 2,
		.flags = CHILD_DIE_WITH_US | CHILD_NULL_STDIO,
		.prepare = enter_folder,
		.prepare_ctx = &inherited,
	};
	struct child child;

	if (!path)
		return -1;
	if (log < 0)
		return error_set(err, errno, "memfd_create");
	if (child_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "%s", argv[0]);
	return tool_wait(&child, argv[0], log, tick, ctx, err);
}

int tool_image(const char *job, int in, int out, struct error *err)
{
	AUTO_CLOSE int log = memfd_create("tool log", MFD_CLOEXEC);
	AUTO_FREE char *path = paths_helper("bawn-image", err);
	const char *argv[] = { "bawn-image", job, NULL };
	struct child_fd fds[] = {
		{ in, 0 }, { log, 1 }, { log, 2 }, { out, 4 }
	};
	struct child_spec spec = {
		.path = path,
		.argv = argv,
		.env = tool_env(),
		.fds = fds,
		.fd_count = ARRAY_SIZE(fds),
		.flags = CHILD_DIE_WITH_US,
	};
	struct child child;

	if (!path)
		return -1;
	if (log < 0)
		return error_set(err, errno, "memfd_create");
	if (child_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "bawn-image");
	return tool_wait(&child, "bawn-image", log, NULL, NULL, err);
}
