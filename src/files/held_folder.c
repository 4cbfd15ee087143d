/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_folder.c - how folders stand with the guard, and some that are kept
 *
 * What a folder's path makes of the names in it is found by going through the
 * folders above, each of which has to be looked at on the host. So a folder
 * begins where one above it is kept, and the one right above is kept as well:
 * the next one beside it will ask for that.
 */
#include "files/held_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The host may have moved it: then its path is not the one that we know. */
static int enter_name(struct server *server, const struct node *folder,
		      struct guard_state *state)
{
	struct node *parent = node_parent(server->nodes, folder);
	char name[NODE_NAME_MAX + 1];
	struct statx st;

	if (!parent || !node_name(server->nodes, folder, name) ||
	    !held_host_has(server, parent, name, &st) ||
	    !share_same_file(&folder->key, &st))
		return -ESTALE;
	guard_enter(&server->guard, name, state);
	return 0;
}

/*
 * A bare repository may be called anything. Its HEAD is the one thing in it
 * that a guest can neither make nor remove, as it is held.
 */
static int enter_folder(struct server *server, struct node *folder,
			const struct guard_state *repository,
			struct guard_state *state)
{
	int fd, failed = 0;
	struct stat st;

	if (!node_is_root(server->nodes, folder))
		failed = enter_name(server, folder, state);
	if (failed)
		return failed;
	fd = node_fds_folder(&server->fds, folder);
	if (fd < 0)
		return fd;
	if (fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(st.st_mode))
		guard_join(&server->guard, repository, state);
	return 0;
}

/* above: a folder above this one; NULL: from the share's root. */
static int enter_from(struct server *server, const struct held_folder *above,
		      const struct node *folder, struct guard_state *state)
{
	const struct share *share = &server->shares[folder->key.share];
	const struct node *end = above ? above->node : NULL;
	uint32_t way[NODE_DEPTH_MAX];
	int depth = 0, failed = 0;

	for (; folder != end; folder = node_parent(server->nodes, folder)) {
		if (depth == NODE_DEPTH_MAX)
			return -ESTALE;
		way[depth++] = node_index(server->nodes, folder);
	}
	memcpy(state, above ? &above->state : share->guard_root,
	       sizeof(*state));
	while (depth > 0 && !failed)
		failed = enter_folder(server,
				      node_at(server->nodes, way[--depth]),
				      share->guard_git, state);
	return failed;
}

static bool is_watched(struct server *server, const struct node *folder)
{
	while (folder && folder->watch >= 0)
		folder = node_parent(server->nodes, folder);
	return !folder;
}

static bool is_fresh(struct server *server, struct held_folder *kept)
{
	if (kept->request == server->fds.request)
		return true;
	if (!kept->names || watch_names(server) != kept->names ||
	    loop_now_ms() >= kept->until_ms)
		return false;
	kept->request = server->fds.request;
	return true;
}

static struct held_folder *find_kept(struct server *server,
				     const struct node *folder)
{
	for (unsigned i = 0; i < HELD_FOLDERS; i++) {
		struct held_folder *kept = &server->held_folders.kept[i];

		if (kept->node == folder &&
		    kept->generation == folder->generation &&
		    is_fresh(server, kept))
			return kept;
	}
	return NULL;
}

static struct held_folder *find_above(struct server *server,
				      const struct node *folder)
{
	struct held_folder *above = NULL;

	while (!above && (folder = node_parent(server->nodes, folder)))
		above = find_kept(server, folder);
	return above;
}

static struct held_folder *take_place(struct held_folders *folders,
				      const struct held_folder *but)
{
	struct held_folder *place;

	do
		place = &folders->kept[folders->next++ % HELD_FOLDERS];
	while (place == but);
	place->node = NULL;
	return place;
}

/* Asked for before it is looked at: what happens meanwhile counts. */
static void begin_keeping(struct server *server, const struct node *folder,
			  struct held_folder *kept)
{
	kept->names = is_watched(server, folder) ? watch_names(server) : 0;
	kept->until_ms = loop_now_ms() + HELD_KEPT_MS;
	kept->generation = folder->generation;
	kept->request = server->fds.request;
}

static int look_at(struct server *server, const struct node *folder,
		   struct held_folder **entered)
{
	struct share *share = &server->shares[folder->key.share];
	struct held_folder *above = find_above(server, folder);
	struct held_folder *kept = take_place(&server->held_folders, above);
	int failed;

	begin_keeping(server, folder, kept);
	/* It was heard just now that something has changed. */
	if (above && kept->names && kept->names != above->names)
		above = NULL;
	if (above && above->until_ms < kept->until_ms)
		kept->until_ms = above->until_ms;
	if (node_path(server->nodes, folder, NULL, kept->path,
		      sizeof(kept->path)) < 0)
		return -ESTALE;
	kept->path_len = strlen(kept->path);
	failed = enter_from(server, above, folder, &kept->state);
	if (failed)
		return failed;
	kept->has_own = shadow_has_folder(&share->shadow, kept->path);
	kept->node = folder;
	*entered = kept;
	return 0;
}

int held_enter(struct server *server, const struct node *folder,
	       struct held_folder **entered)
{
	const struct node *parent = node_parent(server->nodes, folder);
	struct held_folder *kept = find_kept(server, folder);
	int failed = 0;

	if (!kept && parent && !find_kept(server, parent))
		failed = look_at(server, parent, &kept);
	if (!failed && (!kept || kept->node != folder))
		failed = look_at(server, folder, &kept);
	if (failed)
		return failed;
	kept->path[kept->path_len] = '\0';
	*entered = kept;
	return 0;
}

int held_path(struct server *server, const struct node *folder,
	      const char *name, const char **path)
{
	struct held_folder *kept;
	int failed = held_enter(server, folder, &kept);
	size_t at, len = strlen(name);

	if (failed)
		return failed;
	at = kept->path_len;
	if (at + len + 2 > sizeof(kept->path))
		return -ENAMETOOLONG;
	if (at)
		kept->path[at++] = '/';
	memcpy(kept->path + at, name, len + 1);
	*path = kept->path;
	return 0;
}

void held_changed(struct server *server)
{
	for (unsigned i = 0; i < HELD_FOLDERS; i++)
		server->held_folders.kept[i].node = NULL;
	server->held_place.node = NULL;
}
