/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - what the launcher tells bawn-files at its start
 */
#include "files/config.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "files/server.h"

#define CONFIG_BYTES_MAX (4U << 20)

static int add_patterns(struct share *share, json_t *patterns,
			struct error *err)
{
	size_t i;
	json_t *pattern;

	json_array_foreach(patterns, i, pattern)
	{
		if (!json_is_string(pattern))
			return error_set(err, 0, "a pattern is a text");
		if (hide_list_add(&share->hide, json_string_value(pattern)) < 0)
			return error_set(err, 0,
					 "hidden path %s: too long, "
					 "too deep or one too many",
					 json_string_value(pattern));
	}
	return 0;
}

static int add_guard(struct server *server, json_t *guard, const char *key,
		     enum guard_class class, struct error *err)
{
	json_t *list = json_object_get(guard, key), *pattern;
	size_t i;

	if (!json_is_array(list))
		return error_set(err, 0, "guard: no list %s", key);
	json_array_foreach(list, i, pattern)
	{
		const char *text = json_string_value(pattern);

		if (!text || guard_list_add(&server->guard, class, text) < 0)
			return error_set(err, 0,
					 "guard: %s: too long, too deep or one "
					 "too many",
					 text ? text : "not a text");
	}
	return 0;
}

/* Rows of three numbers: major and minor number of the device, inode. */
static int read_frozen(struct server *server, json_t *list, struct error *err)
{
	json_int_t major, minor, ino;
	json_t *row;
	size_t i;

	if (list && !json_is_array(list))
		return error_set(err, 0, "guard: frozen is a list");
	json_array_foreach(list, i, row)
	{
		struct statx st = { 0 };

		if (server->frozen_count == SERVER_FROZEN_MAX ||
		    json_unpack(row, "[III!]", &major, &minor, &ino) < 0)
			return error_set(err, 0,
					 "guard: frozen: three numbers each, "
					 "or one too many");
		st.stx_dev_major = (uint32_t)major;
		st.stx_dev_minor = (uint32_t)minor;
		server->frozen[server->frozen_count].dev = share_dev(&st);
		server->frozen[server->frozen_count++].ino = (uint64_t)ino;
	}
	return 0;
}

static int read_guard(struct server *server, json_t *guard, struct error *err)
{
	if (json_is_null(guard))
		return 0;
	if (!json_is_object(guard) ||
	    json_object_size(guard) !=
		    (json_object_get(guard, "frozen") ? 3U : 2U))
		return error_set(err, 0, "guard: lists or null");
	if (server->state_fd < 0)
		return error_set(err, 0, "guard: needs a state folder");
	if (add_guard(server, guard, "held", GUARD_HELD, err) < 0 ||
	    read_frozen(server, json_object_get(guard, "frozen"), err) < 0)
		return -1;
	return add_guard(server, guard, "shown", GUARD_SHOWN, err);
}

static int open_share(struct share *share, struct error *err)
{
	struct stat st;

	/* the caller resolved the path; guests may write the folders above */
	share->root_fd = fileio_open_real(share->path, O_PATH);
	if (share->root_fd < 0 && errno == ELOOP)
		return error_say(err, ELOOP,
				 "%s: lies behind a symbolic link that was put "
				 "there since it was shared (remove the link, "
				 "or bawn umount it)",
				 share->path);
	if (share->root_fd < 0 || fstat(share->root_fd, &st) < 0)
		return error_set(err, errno, "%s", share->path);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(err, 0, "%s: neither a folder nor a file",
				 share->path);
	return 0;
}

static uint32_t share_flags(bool read_only, bool overlay, bool gone)
{
	return (read_only ? RECORD_SHARE_READ_ONLY : 0U) |
	       (overlay ? RECORD_SHARE_OVERLAY : 0U) |
	       (gone ? RECORD_SHARE_GONE : 0U);
}

/*
 * What is not there any more, or behind a link now, is not served; the other
 * folders are, but for the workspace, without which nothing is right.
 */
static int leave_out(const struct server *server, struct share *share,
		     const struct error *why)
{
	if (server->share_count == 1 ||
	    (why->code != ENOENT && why->code != ENOTDIR && why->code != ELOOP))
		return -1;
	log_warn("%s; it is left out", why->text);
	share->gone = true;
	share->flags |= RECORD_SHARE_GONE;
	return 0;
}

static int add_share(struct server *server, json_t *value, struct error *err)
{
	struct share *share = &server->shares[server->share_count];
	json_int_t bytes = 0, inodes = 0;
	const char *path, *guest_path;
	json_error_t why;
	json_t *hide;
	int read_only, overlay, gone;

	if (server->share_count == NODE_SHARES_MAX)
		return error_set(err, 0, "more than %d shares",
				 NODE_SHARES_MAX);
	if (json_unpack_ex(value, &why, JSON_STRICT,
			   "{s:s, s:s, s:b, s:b, s:b, s:I, s:I, s:o}", "path",
			   &path, "guest_path", &guest_path, "read_only",
			   &read_only, "overlay", &overlay, "gone", &gone,
			   "quota_bytes", &bytes, "quota_inodes", &inodes,
			   "hide", &hide) < 0)
		return error_set(err, 0, "share: %s", why.text);
	if (bytes < 0 || inodes < 0 || path[0] != '/')
		return error_set(err, 0, "share: %s", path);
	*share = (struct share){ .path = xstrdup(path),
				 .guest_path = xstrdup(guest_path),
				 .root_fd = -1,
				 /* What is written over is never written to. */
				 .read_only = read_only || overlay,
				 .gone = gone,
				 .flags = share_flags(read_only, overlay, gone),
				 .quota_bytes = (uint64_t)bytes,
				 .quota_inodes = (uint64_t)inodes };
	server->share_count++;
	if (!gone && open_share(share, err) < 0 &&
	    leave_out(server, share, err) < 0)
		return -1;
	return add_patterns(share, hide, err);
}

static int add_absent(struct server *server, json_t *value, struct error *err)
{
	struct statx st;

	if (!json_is_string(value) || server->absent_count == SERVER_ABSENT_MAX)
		return error_set(err, 0, "absent: at most %d paths",
				 SERVER_ABSENT_MAX);
	/* What does not exist cannot be seen either. */
	if (statx(AT_FDCWD, json_string_value(value), 0, SHARE_STATX, &st) == 0)
		server->absent[server->absent_count++] = share_key(0, &st);
	return 0;
}

static int read_lists(struct server *server, json_t *shares, json_t *absent,
		      struct error *err)
{
	json_t *value;
	size_t i;

	json_array_foreach(shares, i, value)
	{
		if (add_share(server, value, err) < 0)
			return -1;
	}
	json_array_foreach(absent, i, value)
	{
		if (add_absent(server, value, err) < 0)
			return -1;
	}
	if (!server->share_count)
		return error_set(err, 0, "no share");
	return 0;
}

static int read_marker(const json_t *value, uint8_t marker[RECORD_MARKER_BYTES],
		       struct error *err)
{
	if (json_is_null(value))
		return 0;
	if (!json_is_string(value) ||
	    text_unhex(json_string_value(value), marker, RECORD_MARKER_BYTES) <
		    0)
		return error_set(err, 0, "marker: 64 hex digits");
	return 1;
}

static int read_fd(const json_t *value, int *fd, struct error *err)
{
	*fd = -1;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > INT_MAX)
		return error_set(err, 0, "a descriptor is a number or null");
	*fd = (int)json_integer_value(value);
	return 0;
}

/* What the launcher adds to the list of shares. */
static int read_rest(json_t *root, struct config *config, struct server *server,
		     struct error *err)
{
	json_t *marker, *next_marker, *memory, *control, *state;
	json_t *to_guest = NULL, *from_guest = NULL;
	json_t *rings = NULL, *bell = NULL;
	json_error_t why;
	int has_marker;

	if (json_unpack_ex(root, &why, 0,
			   "{s:o, s:o, s:o, s:o, s:o, s?o, s?o, s?o, s?o}",
			   "marker", &marker, "next_marker", &next_marker,
			   "memory", &memory, "control", &control, "state",
			   &state, "to_guest", &to_guest, "from_guest",
			   &from_guest, "rings", &rings, "bell", &bell) < 0)
		return error_set(err, 0, "%s", why.text);
	has_marker = read_marker(marker, config->marker, err);
	config->has_marker = has_marker > 0;
	if (has_marker < 0 ||
	    read_marker(next_marker, server->next_marker, err) < 0 ||
	    read_fd(memory, &config->memory_fd, err) < 0 ||
	    read_fd(control, &config->control_fd, err) < 0 ||
	    read_fd(to_guest, &config->to_guest_fd, err) < 0 ||
	    read_fd(from_guest, &config->from_guest_fd, err) < 0 ||
	    read_fd(rings, &config->rings_fd, err) < 0 ||
	    read_fd(bell, &config->bell_fd, err) < 0)
		return -1;
	return read_fd(state, &server->state_fd, err);
}

static int apply(json_t *root, struct config *config, struct server *server,
		 struct error *err)
{
	json_t *shares, *absent, *guard, *rest[9], *unseen = NULL;
	json_int_t uid, gid;
	json_error_t why;
	int undo;

	if (json_unpack_ex(
		    root, &why, JSON_STRICT,
		    "{s:o, s:o, s:I, s:I, s:o, s:b, s:o, s:o, s:o, s:o, s:o, "
		    "s?o, s?o, s?o, s?o, s?o}",
		    "shares", &shares, "absent", &absent, "guest_uid", &uid,
		    "guest_gid", &gid, "guard", &guard, "undo", &undo, "marker",
		    &rest[0], "next_marker", &rest[1], "memory", &rest[2],
		    "control", &rest[3], "state", &rest[4], "to_guest",
		    &rest[5], "from_guest", &rest[6], "rings", &rest[7], "bell",
		    &rest[8], "unseen", &unseen) < 0)
		return error_set(err, 0, "%s", why.text);
	server->undo.wanted = undo;
	server->guest.uid = (uint32_t)uid;
	server->guest.gid = (uint32_t)gid;
	if (read_rest(root, config, server, err) < 0 ||
	    read_guard(server, guard, err) < 0 ||
	    unseen_read(&server->unseen, unseen, err) < 0)
		return -1;
	return read_lists(server, shares, absent, err);
}

int config_read(int fd, struct config *config, struct server *server,
		struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CONFIG_BYTES_MAX);
	json_error_t why;
	json_t *root;
	int result;

	*config = (struct config){ .memory_fd = -1,
				   .control_fd = -1,
				   .to_guest_fd = -1,
				   .from_guest_fd = -1,
				   .rings_fd = -1,
				   .bell_fd = -1 };
	server->state_fd = -1;
	if (fileio_read_fd(fd, &text, err) < 0)
		return error_prefix(err, "start message");
	root = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return error_set(err, 0, "start message: %s", why.text);
	result = apply(root, config, server, err);
	json_decref(root);
	return result < 0 ? error_prefix(err, "start message") : 0;
}
