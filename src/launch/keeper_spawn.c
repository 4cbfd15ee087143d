/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_spawn.c - one process of a row: its message and its descriptors
 */
#include "launch/keeper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

static json_t *marker_json(const uint8_t marker[KEEPER_MARKER_BYTES])
{
	char hex[2 * KEEPER_MARKER_BYTES + 1];

	text_hex(marker, KEEPER_MARKER_BYTES, hex);
	return json_string(hex);
}

static char *message_text(struct keeper *keeper)
{
	json_t *message = keeper->row->message(keeper);
	char *text;

	json_object_set_new(message, "marker",
			    keeper->has_marker ? marker_json(keeper->marker)
					       : json_null());
	json_object_set_new(message, "next_marker",
			    marker_json(keeper->next_marker));
	text = json_dumps(message, JSON_COMPACT);
	json_decref(message);
	return text;
}

static int message_file(struct keeper *keeper, struct error *err)
{
	AUTO_FREE char *text = message_text(keeper);
	AUTO_CLOSE int fd = memfd_create("message", MFD_CLOEXEC);
	int written;

	if (!text || fd < 0)
		return error_set(err, errno, "start message");
	written = fileio_write_all(fd, text, strlen(text), err);
	/* It may hold a key. */
	explicit_bzero(text, strlen(text));
	if (written < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "start message");
	return TAKE_FD(fd);
}

static void add_fd(struct child_fd *fds, size_t *count, int from, int to)
{
	if (from >= 0)
		fds[(*count)++] = (struct child_fd){ from, to };
}

static int spawn(struct keeper *keeper, int control, int errors,
		 const int extra[KEEPER_EXTRA], struct error *err)
{
	AUTO_FREE char *path = paths_helper(keeper->row->program, err);
	AUTO_CLOSE int message = message_file(keeper, err);
	const char *argv[] = { keeper->row->program, NULL };
	struct child_fd fds[KEEPER_FD_EXTRA + KEEPER_EXTRA];
	size_t count = 0;

	add_fd(fds, &count, errors, KEEPER_FD_ERRORS);
	add_fd(fds, &count, keeper->port, KEEPER_FD_PORT);
	add_fd(fds, &count, message, KEEPER_FD_MESSAGE);
	add_fd(fds, &count, control, KEEPER_FD_CONTROL);
	for (int i = 0; i < KEEPER_EXTRA; i++)
		add_fd(fds, &count, extra[i], KEEPER_FD_EXTRA + i);
	const struct child_spec spec = { .path = path,
					 .argv = argv,
					 .fds = fds,
					 .fd_count = count,
					 .flags = CHILD_DIE_WITH_US |
						  CHILD_NULL_STDIO,
					 .prepare = keeper->row->prepare };

	if (!path || message < 0)
		return -1;
	return child_spawn(&spec, &keeper->child, err);
}

static int spawn_with_extra(struct keeper *keeper, int control, int errors,
			    struct error *err)
{
	int extra[KEEPER_EXTRA] = { -1, -1, -1, -1, -1, -1 };
	int result = keeper->row->open_extra(keeper, extra, err);

	if (result == 0)
		result = spawn(keeper, control, errors, extra, err);
	for (int i = 0; i < KEEPER_EXTRA; i++) {
		if (extra[i] >= 0)
			close(extra[i]);
	}
	return result;
}

int keeper_spawn(struct keeper *keeper, struct error *err)
{
	AUTO_CLOSE int control = -1, errors = -1;
	int ends[2];

	if (getrandom(keeper->next_marker, KEEPER_MARKER_BYTES, 0) !=
	    KEEPER_MARKER_BYTES)
		return error_set(err, errno, "marker");
	if (socketpair(AF_UNIX, keeper->row->channel | SOCK_CLOEXEC, 0, ends) <
	    0)
		return error_set(err, errno, "socketpair");
	keeper->control.fd = ends[0];
	control = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	keeper->errors.fd = ends[0];
	errors = ends[1];
	if (fcntl(keeper->control.fd, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(keeper->errors.fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "%s", keeper->row->program);
	return spawn_with_extra(keeper, control, errors, err);
}
