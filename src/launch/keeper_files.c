/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_files.c - the row of bawn-files
 */
#include "launch/keeper_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "launch/nodes_file.h"
#include "launch/profile.h"

/* Numbers in the child. */
enum {
	FILES_FD_MEMORY = KEEPER_FD_EXTRA,
	FILES_FD_STATE,
	FILES_FD_BESIDE,
};

/* Beside the port: memories of bulk.h, memory and bell of rings.h. */
static const char *const beside_names[] = { "to_guest", "from_guest", "rings",
					    "bell" };

_Static_assert(ARRAY_SIZE(beside_names) == KEEPER_FILES_BESIDE,
	       "one name for each");

static struct keeper_files *of(struct keeper *keeper)
{
	return CONTAINER_OF(keeper, struct keeper_files, keeper);
}

/* Without it everything goes through the port. */
static bool has_memory(const struct keeper_files *files)
{
	for (int i = 0; i < KEEPER_FILES_BESIDE; i++) {
		if (fcntl(files->beside[i], F_GETFD) < 0)
			return false;
	}
	return true;
}

static json_t *message(struct keeper *keeper)
{
	json_t *json = json_copy(keeper->settings);

	json_object_set_new(json, "memory", json_integer(FILES_FD_MEMORY));
	json_object_set_new(json, "control", json_integer(KEEPER_FD_CONTROL));
	json_object_set_new(json, "state", json_integer(FILES_FD_STATE));
	for (int i = 0; i < KEEPER_FILES_BESIDE && has_memory(of(keeper)); i++)
		json_object_set_new(json, beside_names[i],
				    json_integer(FILES_FD_BESIDE + i));
	return json;
}

/* The user that bawn-files takes when root starts it: the first share's. */
static void owner_of(const json_t *settings, uid_t *uid, gid_t *gid)
{
	json_t *share;
	struct stat st;
	size_t i;

	*uid = geteuid();
	*gid = getegid();
	json_array_foreach(json_object_get(settings, "shares"), i, share)
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

	owner_of(keeper->settings, &uid, &gid);
	fd = own_folder(keeper->folder, "files", uid, gid, err);
	if (fd < 0)
		return -1;
	shadow = own_folder(fd, "shadow", uid, gid, err);
	undo = own_folder(fd, "undo", uid, gid, err);
	return shadow < 0 || undo < 0 ? -1 : TAKE_FD(fd);
}

static int open_extra(struct keeper *keeper, int extra[KEEPER_EXTRA],
		      struct error *err)
{
	single_files_look(&of(keeper)->single, keeper->settings);
	extra[0] = fcntl(of(keeper)->memory, F_DUPFD_CLOEXEC, 0);
	if (extra[0] < 0)
		return error_set(err, errno, "memory file");
	extra[1] = state_folder(keeper, err);
	if (extra[1] < 0)
		return -1;
	for (int i = 0; i < KEEPER_FILES_BESIDE && has_memory(of(keeper));
	     i++) {
		extra[2 + i] = fcntl(of(keeper)->beside[i], F_DUPFD_CLOEXEC, 0);
		if (extra[2 + i] < 0)
			return error_set(err, errno, "memory of the port");
	}
	return 0;
}

static void on_line(void *ctx, const char *line)
{
	struct keeper_files *files = ctx;
	struct keeper *keeper = &files->keeper;
	uint64_t share;

	if (strcmp(line, "ready") == 0) {
		keeper_ready(keeper);
	} else if (strcmp(line, "welcomed") == 0) {
		keeper_welcomed(keeper);
	} else if (text_starts(line, "initialised ") &&
		   text_to_u64(line + strlen("initialised "), 0,
			       KEEPER_SHARES_MAX - 1, &share) == 0) {
		files->initialised |= UINT64_C(1) << share;
	} else if (text_starts(line, "marked ")) {
		files->on_mark(keeper->ctx, NULL);
	} else if (text_starts(line, "failed ")) {
		files->on_mark(keeper->ctx, line + strlen("failed "));
	} else {
		log_limited(LOG_LEVEL_WARN, "bawn-files: unknown line");
	}
	keeper->ops->on_change(keeper->ctx);
}

static bool read_control(struct keeper *keeper)
{
	return keeper_read_lines(&keeper->control, &of(keeper)->lines, on_line,
				 of(keeper));
}

static void on_gone(struct keeper *keeper)
{
	of(keeper)->lines.len = 0;
	of(keeper)->on_mark(keeper->ctx, "bawn-files has ended");
}

/* The same list: its successor opens the files that are there now. */
static bool on_replaced(void *ctx)
{
	struct keeper_files *files = ctx;
	struct keeper *keeper = &files->keeper;

	if (keeper->closing)
		return true;
	if (keeper->life != KEEPER_SERVING || !keeper->welcomed ||
	    keeper->frozen)
		return false;
	keeper_files_change(files, json_incref(keeper->settings));
	return true;
}

static const struct keeper_row row = {
	.program = "bawn-files",
	.lost = "the shared folders are not served",
	.channel = SOCK_STREAM,
	.prepare = profile_leave_network,
	.message = message,
	.open_extra = open_extra,
	.read_control = read_control,
	.on_gone = on_gone,
};

int keeper_files_init(struct keeper_files *files, struct loop *loop, int port,
		      int folder, const char *marker, struct error *err)
{
	*files = (struct keeper_files){ .memory = -1 };
	for (int i = 0; i < KEEPER_FILES_BESIDE; i++)
		files->beside[i] = -1;
	single_files_init(&files->single, loop);
	files->single.on_replaced = on_replaced;
	files->single.ctx = files;
	files->memory = memfd_create("nodes", MFD_CLOEXEC);
	if (files->memory < 0)
		return error_set(err, errno, "memory file");
	if (keeper_init(&files->keeper, &row, loop, port, folder, marker, err) <
	    0)
		return -1;
	/* Without it the guest's open files are stale, and all else works. */
	if (marker && nodes_file_take(folder, files->memory,
				      files->keeper.marker, err) < 0)
		log_warn("%s", err->text);
	return 0;
}

int keeper_files_freeze(struct keeper_files *files, const char *marker,
			struct error *err)
{
	uint8_t bytes[NODES_MARKER_BYTES];

	if (text_unhex(marker, bytes, sizeof(bytes)) < 0)
		return error_set(err, EINVAL, "freeze: 64 hex digits");
	keeper_freeze(&files->keeper);
	return nodes_file_save(files->keeper.folder, files->memory, bytes, err);
}

static uint64_t mounted_shares(const json_t *settings)
{
	uint64_t bits = 0;
	json_t *share;
	size_t i;

	json_array_foreach(json_object_get(settings, "shares"), i, share)
	{
		if (i < KEEPER_SHARES_MAX &&
		    !json_is_true(json_object_get(share, "gone")))
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

void keeper_files_change(struct keeper_files *files, json_t *settings)
{
	files->initialised &= mounted_shares(settings);
	keeper_replace(&files->keeper, settings);
}

bool keeper_files_settled(const struct keeper_files *files)
{
	uint64_t wanted = mounted_shares(files->keeper.settings);

	return files->keeper.life == KEEPER_SERVING && files->keeper.welcomed &&
	       (wanted & ~files->initialised) == 0;
}

static int say(struct keeper_files *files, const char *line)
{
	size_t len = strlen(line);

	if (files->keeper.life != KEEPER_SERVING)
		return -1;
	return write(files->keeper.control.fd, line, len) == (ssize_t)len ? 0
									  : -1;
}

int keeper_files_mark(struct keeper_files *files, const char *label)
{
	char line[KEEPER_LINE_MAX];

	if (text_format(line, sizeof(line), "mark %s\n", label) < 0)
		return -1;
	return say(files, line);
}

void keeper_files_forget(struct keeper_files *files)
{
	/* A server that starts later has told nothing yet. */
	say(files, "forget\n");
}

void keeper_files_release(struct keeper_files *files)
{
	single_files_release(&files->single);
	keeper_release(&files->keeper);
	close(files->memory);
}
