/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_move.c - files that are renamed into the shadow or out of it
 *
 * A folder whose name or place decides about what is beneath it does not move:
 * EXDEV makes the guest's mv copy it, file by file, through the guard.
 */
#include "files/held_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "files/policy.h"
#include "files/watch.h"

#define COPY_AT_ONCE (16U << 20) /* what is bigger, mv shall copy */

static int is_bound(struct server *server, const struct node *folder,
		    const char *name)
{
	struct held_folder *kept;
	int failed = held_enter(server, folder, &kept);

	return failed ? failed
		      : guard_is_bound(&server->guard, &kept->state, name);
}

static int check_folder(struct server *server, const struct held_move *move)
{
	int bound = is_bound(server, move->from, move->old_name);

	if (!bound)
		bound = is_bound(server, move->to, move->new_name);
	return bound > 0 ? -EXDEV : bound;
}

/* Opened for its content, by the name where the guest sees it. */
static int open_source(struct server *server, const struct held_move *move)
{
	struct share *share = &server->shares[move->from->key.share];
	AUTO_CLOSE int fd = -1;
	struct statx st;
	char number[16];
	const char *path;
	int failed;

	if (move->st.stx_mask & SHARE_SHADOW) {
		failed = held_path(server, move->from, move->old_name, &path);
		fd = failed ? failed : shadow_open(&share->shadow, path);
	} else {
		int dir = node_fds_folder(&server->fds, move->from);

		fd = dir < 0 ? dir
			     : openat(dir, move->old_name,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd == -1)
			fd = -errno;
	}
	if (fd < 0)
		return TAKE_FD(fd);
	if (statx(fd, "", AT_EMPTY_PATH, SHARE_STATX, &st) < 0)
		return -errno;
	if (st.stx_ino != move->st.stx_ino || st.stx_mode != move->st.stx_mode)
		return -ESTALE;
	if (!S_ISREG(st.stx_mode))
		return TAKE_FD(fd);
	text_format(number, sizeof(number), "%d", fd);
	failed = open(number, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return failed < 0 ? -errno : failed;
}

/* The old name goes, be it the guest's own or the host's. */
static int leave(struct server *server, const struct held_move *move,
		 const struct statx *was)
{
	int fd, done = held_unlink(server, move->from, move->old_name, was);

	if (done)
		return done < 0 ? done : 0;
	fd = node_fds_folder(&server->fds, move->from);
	if (fd < 0)
		return fd;
	done = undo_removing(server, move->from, fd, move->old_name, was);
	if (done < 0)
		return done;
	if (!done && unlinkat(fd, move->old_name, 0) < 0)
		return -errno;
	undo_done(server);
	watch_own(server, move->from, move->old_name, IN_DELETE);
	return 0;
}

static struct node *known(struct server *server, const struct held_move *move)
{
	struct node_key key = share_key(move->from->key.share, &move->st);

	return node_table_find(server->nodes, &key);
}

/* The node follows its content; the caller gives it its new place. */
static int become(struct server *server, struct held_move *move,
		  const struct statx *now)
{
	struct statx was = move->st;
	struct node *node = known(server, move);
	int failed = leave(server, move, &was);

	if (!failed && node)
		failed = held_rekey(server, node, now);
	move->st = *now;
	return failed;
}

static int move_in(struct server *server, struct held_move *move)
{
	AUTO_CLOSE int fd = -1;
	struct shadow_source source = { .st = &move->st };
	struct statx now;
	int failed;

	if (move->st.stx_size > COPY_AT_ONCE)
		return -EXDEV;
	fd = open_source(server, move);
	if (fd < 0)
		return TAKE_FD(fd);
	source.fd = fd;
	failed = held_copy(server, move->to, move->new_name, &source, &now);
	if (failed)
		return failed;
	held_tell_later(server, move->to, move->new_name);
	return become(server, move, &now);
}

/* Both names are in the shadow. */
static int move_within(struct server *server, const struct held_move *move)
{
	struct share *share = &server->shares[move->from->key.share];
	AUTO_FREE char *from = NULL;
	const char *path;
	struct statx host;
	int failed = held_path(server, move->from, move->old_name, &path);

	if (failed)
		return failed;
	from = xstrdup(path);
	failed = held_path(server, move->to, move->new_name, &path);
	if (!failed)
		failed = shadow_rename(&share->shadow, from, path);
	if (!failed && held_host_has(server, move->from, move->old_name, &host))
		failed = shadow_white_out(&share->shadow, from);
	held_changed(server);
	return failed;
}

/* The temporary file takes the name; *now is then what has it. */
static int settle(struct server *server, const struct held_move *move, int dir,
		  const char *temporary, struct statx *now)
{
	bool over = move->replaces && !(move->st2.stx_mask & SHARE_SHADOW);
	int moved = over ? undo_removing(server, move->to, dir, move->new_name,
					 &move->st2)
			 : 0;
	struct statx host;

	if (moved < 0)
		return moved;
	if (!held_host_has(server, move->to, move->new_name, &host))
		undo_creating(server, move->to, move->new_name,
			      move->st.stx_mode & S_IFMT, NULL);
	if (statx(dir, temporary, AT_SYMLINK_NOFOLLOW, SHARE_STATX, now) < 0 ||
	    renameat(dir, temporary, dir, move->new_name) < 0)
		return -errno;
	undo_done(server);
	undo_created(server, move->to->key.share, now);
	return 0;
}

static int move_out(struct server *server, struct held_move *move)
{
	int dir = node_fds_folder(&server->fds, move->to), failed;
	unsigned share = move->to->key.share;
	struct shadow_source source = { .st = &move->st };
	AUTO_CLOSE int fd = -1;
	char temporary[64];
	struct statx now;

	if (dir < 0)
		return dir;
	if (move->st.stx_size > COPY_AT_ONCE)
		return -EXDEV;
	failed = policy_may_add(server, share, move->st.stx_size);
	if (failed)
		return failed;
	fd = open_source(server, move);
	if (fd < 0)
		return TAKE_FD(fd);
	text_format(temporary, sizeof(temporary), ".bawn-%x.tmp",
		    server->fds.request);
	source.fd = fd;
	failed = shadow_copy_to(dir, temporary, &source);
	if (!failed)
		failed = settle(server, move, dir, temporary, &now);
	watch_own(server, move->to, temporary,
		  IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE |
			  IN_ATTRIB | IN_MOVED_FROM);
	if (failed) {
		unlinkat(dir, temporary, 0);
		return failed;
	}
	policy_created(server, share);
	policy_charge(server, share, 0, now.stx_blocks);
	held_shown(server, move->to, move->new_name,
		   move->st.stx_mode & S_IFMT);
	return become(server, move, &now);
}

static int held_at(struct server *server, struct node *folder, const char *name,
		   const struct statx *st)
{
	int class = held_class(server, folder, name, st->stx_mode & S_IFMT);

	return class < 0 ? class : class == GUARD_HELD;
}

static int check_exchange(struct server *server, const struct held_move *move)
{
	bool folder = S_ISDIR(move->st.stx_mode) || S_ISDIR(move->st2.stx_mode);
	int held = folder ? check_folder(server, move) : 0;

	if (held)
		return held;
	/* What is in their shadow would have to change places too. */
	if (folder && held_share(server, move->from)->shadow.used)
		return -EXDEV;
	held = held_is(server, move->from, move->old_name, &move->st);
	if (!held)
		held = held_is(server, move->to, move->new_name, &move->st2);
	if (!held)
		held = held_at(server, move->to, move->new_name, &move->st);
	if (!held)
		held = held_at(server, move->from, move->old_name, &move->st2);
	return held > 0 ? -EXDEV : held;
}

int held_rename(struct server *server, struct held_move *move)
{
	int from, to, failed;

	if (!held_share(server, move->from))
		return 0;
	if (move->flags & RENAME_EXCHANGE)
		return check_exchange(server, move);
	if (S_ISDIR(move->st.stx_mode))
		return check_folder(server, move);
	from = held_is(server, move->from, move->old_name, &move->st);
	to = held_at(server, move->to, move->new_name, &move->st);
	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	if (!from && !to) {
		held_shown(server, move->from, move->old_name, S_IFREG);
		return held_shown(server, move->to, move->new_name, S_IFREG);
	}
	if (move->replaces && (move->flags & RENAME_NOREPLACE))
		return -EEXIST;
	if (move->replaces && S_ISDIR(move->st2.stx_mode))
		return -EISDIR;
	move->host_keeps = to && !(move->st2.stx_mask & SHARE_SHADOW);
	if (to && (move->st.stx_mask & SHARE_SHADOW))
		failed = move_within(server, move);
	else
		failed = to ? move_in(server, move) : move_out(server, move);
	return failed ? failed : 1;
}

/* What is in the shadow of a folder goes where the folder went. */
static void carry(struct server *server, const struct held_move *move,
		  struct share *share)
{
	AUTO_FREE char *from = NULL;
	const char *path;

	if (held_path(server, move->from, move->old_name, &path) < 0)
		return;
	from = xstrdup(path);
	if (held_path(server, move->to, move->new_name, &path) < 0)
		return;
	shadow_remove_tree(&share->shadow, path);
	if (shadow_has_folder(&share->shadow, from))
		shadow_rename(&share->shadow, from, path);
}

void held_renamed(struct server *server, const struct held_move *move)
{
	struct share *share = held_share(server, move->from);

	if (!share || !share->shadow.used || (move->flags & RENAME_EXCHANGE))
		return;
	if (S_ISDIR(move->st.stx_mode))
		carry(server, move, share);
	else
		held_made(server, move->to, move->new_name);
	held_changed(server);
}
