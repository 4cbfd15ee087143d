/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_spawn.c - one bawn-files: its message, its descriptors, its folder
 */
#include "launch/keeper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

/* Numbers in the child. */
enum {
	FILES_FD_LOG = 2,
	FILES_FD_PORT,
	FILES_FD_MESSAGE,
	FILES_FD_CONTROL,
	FILES_FD_MEMORY,
	FILES_FD_STATE,
};

static json_t *marker_json(const uint8_t marker[KEEPER_MARKER_BYTES])
{
	char hex[2 * KEEPER_MARKER_BYTES + 1];

	text_hex(marker, KEEPER_MARKER_BYTES, hex);
	return json_string(hex);
}

static char *message_text(const struct keeper *keeper)
{
	json_t *message = json_copy(keeper->files);
	char *text;

	json_object_set_new(message, "marker",
			    keeper->has_marker ? marker_json(keeper->marker)
					       : json_null());
	json_object_set_new(message, "next_marker",
			    marker_json(keeper->next_marker));
	json_object_set_new(message, "memory", json_integer(FILES_FD_MEMORY));
	json_object_set_new(message, "control", json_integer(FILES_FD_CONTROL));
	json_object_set_new(message, "state", json_integer(FILES_FD_STATE));
	text = json_dumps(message, JSON_COMPACT);
	json_decref(message);
	return text;
}

static int message_file(const struct keeper *keeper, struct error *err)
{
	AUTO_FREE char *text = message_text(keeper);
	AUTO_CLOSE int fd = memfd_create("message", MFD_CLOEXEC);

	if (!text || fd < 0)
		return error_set(err, errno, "start message");
	if (fileio_write_all(fd, text, strlen(text), err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "start message");
	return TAKE_FD(fd);
}

/* The user that bawn-files takes when root starts it: the first share's. */
static void owner_of(const json_t *files, uid_t *uid, gid_t *gid)
{
	json_t *share;
	struct stat st;
	size_t i;

	*uid = geteuid();
	*gid = getegid();
	json_array_foreach(json_object_get(files, "shares"), i, share)
	{
		const char *path =
			json_string_value(json_object_get(share, "path"));

		if (json_is_true(json_object_get(share, "gone")) || !path)
			continue;
		if (lstat(path, &st) == 0) {
			*uid = st.st_uid;
			*gid = st.st_gid ? st.st_gid : st.st_uid;
		}
		return;
	}
}

static int own_folder(int parent, const char *name, uid_t uid, gid_t gid,
		      struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "%s", name);
	fd = openat(parent, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "%s", name);
	if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
		return error_set(err, errno, "%s: owner", name);
	return TAKE_FD(fd);
}

/* files/ with shadow/ and undo/ in it: what outlives a server. */
static int state_folder(const struct keeper *keeper, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	AUTO_CLOSE int shadow = -1;
	AUTO_CLOSE int undo = -1;
	uid_t uid;
	gid_t gid;

	owner_of(keeper->files, &uid, &gid);
	fd = own_folder(keeper->folder, "files", uid, gid, err);
	if (fd < 0)
		return -1;
	shadow = own_folder(fd, "shadow", uid, gid, err);
	undo = own_folder(fd, "undo", uid, gid, err);
	return shadow < 0 || undo < 0 ? -1 : TAKE_FD(fd);
}

static int spawn(struct keeper *keeper, int control, int errors,
		 struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-files", err);
	AUTO_CLOSE int message = message_file(keeper, err);
	AUTO_CLOSE int state = state_folder(keeper, err);
	const char *argv[] = { "bawn-files", NULL };
	const struct child_fd fds[] = {
		{ errors, FILES_FD_LOG },
		{ keeper->port, FILES_FD_PORT },
		{ message, FILES_FD_MESSAGE },
		{ control, FILES_FD_CONTROL },
		{ keeper->memory, FILES_FD_MEMORY },
		{ state, FILES_FD_STATE },
	};
	const struct child_spec spec = { .path = path,
					 .argv = argv,
					 .fds = fds,
					 .fd_count = ARRAY_SIZE(fds),
					 .flags = CHILD_DIE_WITH_US |
						  CHILD_NULL_STDIO };

	if (!path || message < 0 || state < 0)
		return -1;
	return child_spawn(&spec, &keeper->child, err);
}

int keeper_spawn(struct keeper *keeper, struct error *err)
{
	AUTO_CLOSE int control = -1, errors = -1;
	int ends[2];

	if (getrandom(keeper->next_marker, KEEPER_MARKER_BYTES, 0) !=
	    KEEPER_MARKER_BYTES)
		return error_set(err, errno, "marker");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, errno, "socketpair");
	keeper->control.source.fd = ends[0];
	control = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	keeper->errors.source.fd = ends[0];
	errors = ends[1];
	if (fcntl(keeper->control.source.fd, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(keeper->errors.source.fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "bawn-files");
	return spawn(keeper, control, errors, err);
}
