/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c - what the guard (guard.h) means for nodes and names
 */
#include "files/held_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/guard_root.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "files/policy.h"
#include "files/shown.h"

#define TELL_ROOM_BYTES 4096

void held_init_share(struct server *server, struct share *share)
{
	share->folds_case = guard_root_folds_case(share->root_fd);
	share->guarded = server->guard.count && server->state_fd >= 0 &&
			 !share->read_only && !share->gone;
	if (!share->guarded)
		return;
	share->guard_root = xcalloc(1, sizeof(*share->guard_root));
	guard_root_enter(&server->guard, share->root_fd, share->path,
			 share->guard_root);
	share->guard_git = xcalloc(1, sizeof(*share->guard_git));
	guard_enter_share(&server->guard, ".git", share->guard_git);
	shadow_init(&share->shadow, server->state_fd, share->path);
}

struct share *held_share(struct server *server, const struct node *node)
{
	struct share *share = &server->shares[node->key.share];

	return share->guarded ? share : NULL;
}

int held_class(struct server *server, const struct node *folder,
	       const char *name, mode_t type)
{
	struct share *share = &server->shares[folder->key.share];
	struct guard_entry entry = { .name = name,
				     .type = type,
				     .folds_case = share->folds_case };
	struct held_folder *kept;
	int failed = held_enter(server, folder, &kept);

	if (failed)
		return failed;
	return (int)guard_classify(&server->guard, &kept->state, &entry);
}

int held_stat(struct server *server, struct node *folder, const char *name,
	      struct statx *st)
{
	struct share *share = held_share(server, folder);
	struct held_folder *kept;
	const char *path;
	int failed;

	if (!share || !share->shadow.used)
		return 0;
	failed = held_enter(server, folder, &kept);
	if (failed || !kept->has_own)
		return failed;
	failed = held_path(server, folder, name, &path);
	return failed ? failed : shadow_find(&share->shadow, path, st);
}

int held_is(struct server *server, struct node *folder, const char *name,
	    const struct statx *st)
{
	int class;

	if (!held_share(server, folder))
		return 0;
	if (st->stx_mask & SHARE_SHADOW)
		return 1;
	class = held_class(server, folder, name, st->stx_mode & S_IFMT);
	return class < 0 ? class : class == GUARD_HELD;
}

bool held_host_has(struct server *server, struct node *folder, const char *name,
		   struct statx *st)
{
	int fd = node_fds_folder(&server->fds, folder);

	return fd >= 0 && statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
				SHARE_STATX, st) == 0;
}

/* Notes what people may want to look at before they run it. */
static int note_shown(struct server *server, const struct node *folder,
		      const char *name)
{
	const char *path;
	int failed = held_path(server, folder, name, &path);

	if (!failed)
		shown_note(&server->shown, &server->shares[folder->key.share],
			   path);
	return failed;
}

int held_shown(struct server *server, const struct node *folder,
	       const char *name, mode_t type)
{
	int class = held_class(server, folder, name, type);

	return class == GUARD_SHOWN ? note_shown(server, folder, name) : 0;
}

int held_rekey(struct server *server, struct node *node, const struct statx *st)
{
	struct node_key key = share_key(node->key.share, st);

	node_fds_drop(&server->fds, node);
	node->flags &= (uint8_t)~NODE_HELD;
	return node_table_rekey(server->nodes, node, &key) < 0 ? -ESTALE : 0;
}

void held_tell_later(struct server *server, const struct node *folder,
		     const char *name)
{
	struct held_changed_name *later = &server->held_name;

	later->folder = node_table_id(server->nodes, folder);
	later->share = folder->key.share;
	text_copy(later->name, sizeof(later->name), name);
}

void held_tell(struct server *server)
{
	struct held_changed_name *later = &server->held_name;
	struct node *folder;
	size_t left;

	if (!later->folder)
		return;
	folder = node_table_by_id(server->nodes, later->share, later->folder);
	later->folder = 0;
	port_room(&server->port, &left);
	if (folder && left >= TELL_ROOM_BYTES)
		watch_tell_entry(server, folder, later->name);
}

int held_copy(struct server *server, const struct node *folder,
	      const char *name, const struct shadow_source *source,
	      struct statx *st)
{
	unsigned share = folder->key.share;
	struct shadow *shadow = &server->shares[share].shadow;
	const char *path;
	int failed = policy_may_add(server, share, source->st->stx_size);

	if (!failed)
		failed = held_path(server, folder, name, &path);
	if (!failed && source->st->stx_size > SHADOW_COPY_MAX)
		failed = -EFBIG;
	if (!failed)
		failed = shadow_copy(shadow, path, source);
	held_changed(server);
	if (!failed)
		failed = held_path(server, folder, name, &path);
	if (failed)
		return failed;
	failed = shadow_find(shadow, path, st);
	if (failed != 1)
		return failed < 0 ? failed : -EIO;
	policy_created(server, share);
	policy_charge(server, share, 0, st->stx_blocks);
	return 0;
}

/* The host's version becomes the guest's own; the node is then that. */
static int take_over(struct server *server, struct node *node,
		     struct node *folder, const char *name)
{
	struct shadow_source source;
	struct statx host, own;
	int failed = node_fds_stat(&server->fds, node, &host);

	if (failed)
		return failed;
	source.st = &host;
	source.fd = node->type == S_IFREG
			    ? node_fds_data(&server->fds, node, NODE_FD_READ)
			    : node_fds_path(&server->fds, node);
	if (source.fd < 0)
		return source.fd;
	failed = held_copy(server, folder, name, &source, &own);
	if (failed)
		return failed;
	held_tell_later(server, folder, name);
	return held_rekey(server, node, &own);
}

/*
 * A node that is not where we know it. Without any name it hurts nobody; with
 * one that we do not know it may have become a held file.
 */
static int change_elsewhere(struct server *server, struct node *node,
			    bool had_place)
{
	struct stat st;

	if (node->fd >= 0 && fstat(node->fd, &st) == 0 && st.st_nlink == 0)
		return 0;
	/* Another of the names that the guest gave it, which were all free. */
	if (!had_place && node->fd >= 0 && !(node->flags & NODE_HELD))
		return 0;
	return -ESTALE;
}

static void note_place(struct server *server, const struct node *node,
		       uint64_t moves)
{
	server->held_place =
		(struct held_place){ .node = node,
				     .generation = node->generation,
				     .moves = moves,
				     .until_ms = loop_now_ms() + HELD_KEPT_MS };
}

/*
 * Whoever unpacks makes a file, writes to it and sets its times: it is looked
 * for once. Events are read before this by whoever enters its folder.
 */
static bool lies_there(struct server *server, const struct node *node,
		       struct node *folder, const char *name)
{
	struct held_place *place = &server->held_place;
	struct held_folder *kept;
	bool told = held_enter(server, folder, &kept) == 0 && kept->names;
	uint64_t moves = watch_moves(server);
	struct statx st;

	if (told && place->node == node &&
	    place->generation == node->generation && place->moves == moves &&
	    loop_now_ms() < place->until_ms)
		return true;
	place->node = NULL;
	if (!held_host_has(server, folder, name, &st) ||
	    !share_same_file(&node->key, &st))
		return false;
	if (told)
		note_place(server, node, moves);
	return true;
}

void held_made_file(struct server *server, const struct node *node,
		    uint64_t moves)
{
	const struct node *folder = node_parent(server->nodes, node);
	struct held_folder *kept;

	if (folder && !node->key.shadow && held_share(server, node) &&
	    held_enter(server, folder, &kept) == 0 && kept->names)
		note_place(server, node, moves);
}

int held_before_content(struct server *server, struct node *node)
{
	struct node *folder = node_parent(server->nodes, node);
	char name[NODE_NAME_MAX + 1];
	int class;

	if (!held_share(server, node) || node->key.shadow ||
	    node->type == S_IFDIR)
		return 0;
	if (node_is_root(server->nodes, node))
		return 0;
	if (!folder || !node_name(server->nodes, node, name))
		return change_elsewhere(server, node, false);
	if (!lies_there(server, node, folder, name))
		return change_elsewhere(server, node, true);
	class = held_class(server, folder, name, node->type);
	if (class == GUARD_HELD)
		return take_over(server, node, folder, name);
	if (class == GUARD_SHOWN)
		return note_shown(server, folder, name);
	return class < 0 ? class : 0;
}
