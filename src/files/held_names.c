/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_names.c - names of held files come and go, and are listed
 */
#include "files/held_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "files/policy.h"

#define GONE_MAX 4096 /* names of one folder that are marked as gone */
#define LIST_MAX 512

int held_begin_create(struct server *server, struct node *folder,
		      const char *name, mode_t type, int *fd)
{
	struct share *share = held_share(server, folder);
	const char *path, *last;
	struct statx st;
	int class, own;

	if (!share)
		return 0;
	class = held_class(server, folder, name, type);
	if (class == GUARD_SHOWN)
		return held_shown(server, folder, name, type);
	if (class != GUARD_HELD)
		return class < 0 ? class : 0;
	/* It would mean that the guest removed something (shadow.h). */
	if (type == S_IFSOCK)
		return -EPERM;
	own = held_stat(server, folder, name, &st);
	if (own > 0 || (own == 0 && held_host_has(server, folder, name, &st)))
		return -EEXIST;
	if (own < 0 && own != -ENOENT)
		return own;
	own = held_path(server, folder, name, &path);
	if (own)
		return own;
	if (strlen(name) > NODE_NAME_MAX)
		return -ENAMETOOLONG;
	shadow_remove_tree(&share->shadow, path);
	*fd = shadow_folder(&share->shadow, path, &last);
	held_changed(server);
	return *fd < 0 ? *fd : 1;
}

struct marking {
	struct shadow *shadow;
	const char *path;
	unsigned count;
	int failed;
};

static bool mark_gone(void *ctx, const char *name, mode_t type)
{
	struct marking *marking = ctx;
	AUTO_FREE char *path = xasprintf("%s/%s", marking->path, name);

	if (++marking->count > GONE_MAX)
		marking->failed = -ENOSPC;
	else
		marking->failed = shadow_white_out(marking->shadow, path);
	return !marking->failed;
}

/* A readable descriptor of a folder of the host's. */
static int open_host_folder(struct server *server, struct node *folder,
			    const char *name)
{
	int dir = node_fds_folder(&server->fds, folder), fd;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int held_make_folder(struct server *server, struct node *folder,
		     const char *name)
{
	struct share *share = held_share(server, folder);
	AUTO_FREE char *own = NULL;
	AUTO_CLOSE int fd = -1;
	struct marking marking;
	const char *path;
	struct statx st;
	int failed;

	if (!share || held_stat(server, folder, name, &st) != -ENOENT)
		return 0;
	failed = held_path(server, folder, name, &path);
	if (failed)
		return failed;
	own = xstrdup(path);
	shadow_forget(&share->shadow, own);
	held_changed(server);
	fd = open_host_folder(server, folder, name);
	if (fd < 0)
		return 0;
	marking = (struct marking){ .shadow = &share->shadow, .path = own };
	failed = shadow_list_fd(fd, mark_gone, &marking);
	if (!failed)
		failed = marking.failed;
	held_changed(server);
	return failed ? failed : 1;
}

void held_made(struct server *server, struct node *folder, const char *name)
{
	struct share *share = held_share(server, folder);
	const char *path;

	if (!share || !share->shadow.used ||
	    held_path(server, folder, name, &path) < 0)
		return;
	shadow_remove_tree(&share->shadow, path);
	held_changed(server);
}

int held_may_link(struct server *server, const struct node *node,
		  struct node *folder, const char *name)
{
	struct node *from = node_parent(server->nodes, node);
	char own[NODE_NAME_MAX + 1];
	int class;

	if (!held_share(server, folder))
		return 0;
	/* Its content could be changed under a name that is not held. */
	if (node->key.shadow || (node->flags & NODE_HELD))
		return -EPERM;
	class = held_class(server, folder, name, node->type);
	if (class < 0 || class == GUARD_HELD)
		return class < 0 ? class : -EPERM;
	if (!from || !node_name(server->nodes, node, own))
		return 0;
	class = held_class(server, from, own, node->type);
	return class == GUARD_HELD ? -EPERM : 0;
}

int held_unlink(struct server *server, struct node *folder, const char *name,
		const struct statx *st)
{
	struct share *share = held_share(server, folder);
	bool own = st->stx_mask & SHARE_SHADOW;
	const char *path;
	struct statx host;
	int held, failed;

	if (!share)
		return 0;
	held = held_is(server, folder, name, st);
	if (held < 0)
		return held;
	if (!held)
		return held_shown(server, folder, name, st->stx_mode & S_IFMT);
	failed = held_path(server, folder, name, &path);
	if (failed)
		return failed;
	if (!held_host_has(server, folder, name, &host))
		shadow_forget(&share->shadow, path);
	else
		failed = shadow_white_out(&share->shadow, path);
	if (!failed && !own)
		policy_created(server, folder->key.share);
	held_changed(server);
	return failed ? failed : 1;
}

struct emptiness {
	const struct shadow *shadow;
	const char *path;
	bool busy;
};

static bool look_own(void *ctx, const char *name, mode_t type)
{
	struct emptiness *look = ctx;

	look->busy = type != S_IFSOCK && type != S_IFDIR;
	return !look->busy;
}

static bool look_host(void *ctx, const char *name, mode_t type)
{
	struct emptiness *look = ctx;
	AUTO_FREE char *path = xasprintf("%s/%s", look->path, name);
	struct statx st;

	look->busy = shadow_find(look->shadow, path, &st) != -ENOENT;
	return !look->busy;
}

/* All that the host has in it is gone for the guest. */
static bool is_emptied(struct server *server, struct node *folder,
		       const char *name, struct emptiness *look)
{
	AUTO_CLOSE int fd = open_host_folder(server, folder, name);

	if (fd < 0)
		return false;
	return shadow_list_fd(fd, look_host, look) == 0 && !look->busy;
}

int held_rmdir(struct server *server, struct node *folder, const char *name,
	       const struct statx *st)
{
	struct share *share = held_share(server, folder);
	AUTO_FREE char *own = NULL;
	struct emptiness look = { 0 };
	const char *path;
	int fd, failed;

	if (!share || !share->shadow.used)
		return 0;
	failed = held_path(server, folder, name, &path);
	if (failed)
		return failed;
	look.shadow = &share->shadow;
	look.path = own = xstrdup(path);
	failed = shadow_list(&share->shadow, own, look_own, &look);
	if (failed || look.busy)
		return failed ? failed : -ENOTEMPTY;
	fd = node_fds_folder(&server->fds, folder);
	if (fd < 0)
		return fd;
	held_changed(server);
	failed = undo_removing(server, folder, fd, name, st);
	if (failed < 0)
		return failed;
	if (failed || unlinkat(fd, name, AT_REMOVEDIR) == 0) {
		shadow_remove_tree(&share->shadow, own);
		return 2;
	}
	failed = -errno;
	undo_cancel(server);
	if (failed != -ENOTEMPTY || !is_emptied(server, folder, name, &look))
		return failed;
	shadow_remove_tree(&share->shadow, own);
	failed = shadow_white_out(&share->shadow, own);
	return failed ? failed : 1;
}

bool held_lists_own(struct server *server, struct node *folder)
{
	struct share *share = held_share(server, folder);
	struct held_folder *kept;

	return share && share->shadow.used &&
	       held_enter(server, folder, &kept) == 0 && kept->has_own;
}

/*
 * What only the shadow has, in the order of a hash of the names: the first few
 * from a position on. The guest asks again with the position after the last.
 */
struct own_names {
	struct server *server;
	struct node *folder;
	uint32_t from;
	size_t count;
	struct own_name {
		uint32_t position;
		mode_t type;
		char *name; /* owned */
	} names[LIST_MAX];
};

static uint32_t position_of(const char *name)
{
	uint32_t hash = 2166136261U;

	while (*name)
		hash = (hash ^ (uint8_t)*name++) * 16777619U;
	return hash >> 1;
}

static bool collect(void *ctx, const char *name, mode_t type)
{
	struct own_names *own = ctx;
	uint32_t position = position_of(name);
	size_t at = own->count;
	struct statx st;

	if (type == S_IFDIR || type == S_IFSOCK || position < own->from ||
	    held_host_has(own->server, own->folder, name, &st))
		return true;
	while (at && own->names[at - 1].position > position)
		at--;
	if (at == LIST_MAX)
		return true;
	if (own->count == LIST_MAX)
		free(own->names[--own->count].name);
	memmove(own->names + at + 1, own->names + at,
		(own->count - at) * sizeof(*own->names));
	own->names[at] = (struct own_name){ .position = position,
					    .type = type,
					    .name = xstrdup(name) };
	own->count++;
	return true;
}

int held_list(struct server *server, struct node *folder, uint32_t from,
	      held_entry_fn *fn, void *ctx)
{
	struct own_names own = { .server = server,
				 .folder = folder,
				 .from = from };
	struct share *share = held_share(server, folder);
	struct held_folder *kept;
	bool more = true;
	int failed;

	if (!share)
		return 0;
	failed = held_enter(server, folder, &kept);
	if (!failed)
		failed = shadow_list(&share->shadow, kept->path, collect, &own);
	for (size_t i = 0; i < own.count; i++) {
		if (more && !failed)
			more = fn(ctx, own.names[i].name, own.names[i].type,
				  own.names[i].position);
		free(own.names[i].name);
	}
	return failed;
}
