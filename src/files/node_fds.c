/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_fds.c - descriptors for nodes: few, checked, the oldest closed first
 */
#include "files/node_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "files/share.h"

#define SPARED_MAX 64

void node_fds_init(struct node_fds *fds, struct node_table *table,
		   const int *root_fds, const struct share *shares,
		   unsigned max)
{
	*fds = (struct node_fds){ .table = table,
				  .root_fds = root_fds,
				  .shares = shares,
				  .max = max,
				  .request = 1 };
}

static void unlink_node(struct node_fds *fds, struct node *node)
{
	if (node->newer)
		node_at(fds->table, node->newer)->older = node->older;
	else
		fds->newest = node->older;
	if (node->older)
		node_at(fds->table, node->older)->newer = node->newer;
	else
		fds->oldest = node->newer;
	node->newer = node->older = 0;
}

static void link_newest(struct node_fds *fds, struct node *node)
{
	uint32_t index = node_index(fds->table, node);

	node->newer = 0;
	node->older = fds->newest;
	if (fds->newest)
		node_at(fds->table, fds->newest)->newer = index;
	else
		fds->oldest = index;
	fds->newest = index;
}

static int touch(struct node_fds *fds, struct node *node)
{
	node->used = fds->request;
	if (fds->newest != node_index(fds->table, node)) {
		unlink_node(fds, node);
		link_newest(fds, node);
	}
	return node->fd;
}

void node_fds_drop(struct node_fds *fds, struct node *node)
{
	if (node->fd < 0)
		return;
	close(node->fd);
	node->fd = -1;
	node->fd_rights = 0;
	unlink_node(fds, node);
	fds->count--;
}

void node_fds_drop_all(struct node_fds *fds)
{
	while (fds->oldest)
		node_fds_drop(fds, node_at(fds->table, fds->oldest));
}

/* What is in use stays; what has no name any more is spared a while. */
static void evict(struct node_fds *fds)
{
	for (int spared = 0; fds->count > fds->max; spared++) {
		struct node *old = node_at(fds->table, fds->oldest);

		/* All of them in one request: a path that deep is bounded. */
		if (old->used == fds->request)
			return;
		if (!(old->flags & NODE_ORPHAN) || spared >= SPARED_MAX) {
			if (fds->evicted && (old->fd_rights & NODE_FD_WRITE))
				fds->evicted(fds->ctx, old);
			node_fds_drop(fds, old);
			continue;
		}
		unlink_node(fds, old);
		link_newest(fds, old);
	}
}

void node_fds_take(struct node_fds *fds, struct node *node, int fd,
		   unsigned rights)
{
	if (node->fd >= 0) {
		close(node->fd);
		unlink_node(fds, node);
	} else {
		fds->count++;
	}
	node->fd = fd;
	node->fd_rights = (uint8_t)rights;
	node->used = fds->request;
	link_newest(fds, node);
	if (fds->count > fds->max)
		evict(fds);
}

void node_fds_begin_request(struct node_fds *fds)
{
	fds->request++;
	if (fds->count > fds->max)
		evict(fds);
}

static int open_component(int dir, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: a rename elsewhere came in between and it could not tell. */
	for (int tries = 0; tries < 16; tries++) {
		fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

/* A name that is gone or another's means that we knew it wrongly. */
static int stale(int negative)
{
	return negative == -ENOENT || negative == -ENOTDIR || negative == -ELOOP
		       ? -ESTALE
		       : negative;
}

/* The guest's own version has the path of what it stands for. */
static int open_in_shadow(struct node_fds *fds, const struct node *node)
{
	const struct share *share = &fds->shares[node->key.share];
	char path[PATH_MAX];

	if (!share->guarded ||
	    node_path(fds->table, node, NULL, path, sizeof(path)) < 0)
		return -ESTALE;
	return shadow_open(&share->shadow, path);
}

/* flags: O_PATH, or those of a file that is to be read. */
static int open_checked(struct node_fds *fds, struct node *node, int dir,
			int flags)
{
	char name[NODE_NAME_MAX + 1];
	AUTO_CLOSE int fd = -1;
	struct statx st;

	if (!node_name(fds->table, node, name))
		return -ESTALE;
	fd = node->key.shadow ? open_in_shadow(fds, node)
			      : open_component(dir, name, flags);
	if (fd < 0)
		return stale(fd);
	if (statx(fd, "", AT_EMPTY_PATH, SHARE_STATX, &st) < 0)
		return -errno;
	if (!share_same_file(&node->key, &st) ||
	    node->type != (st.stx_mode & S_IFMT))
		return -ESTALE;
	node_fds_take(fds, node, TAKE_FD(fd),
		      flags & O_PATH ? 0 : NODE_FD_READ);
	return node->fd;
}

static int fd_now(struct node_fds *fds, struct node *node)
{
	if (node_is_root(fds->table, node))
		return fds->root_fds[node->key.share];
	return node->fd >= 0 ? touch(fds, node) : -1;
}

int node_fds_path(struct node_fds *fds, struct node *node)
{
	uint32_t way[NODE_DEPTH_MAX];
	int depth = 0, fd = fd_now(fds, node);

	while (fd < 0) {
		if (depth == NODE_DEPTH_MAX || !node->parent)
			return -ESTALE;
		way[depth++] = node_index(fds->table, node);
		node = node_parent(fds->table, node);
		fd = fd_now(fds, node);
	}
	while (depth > 0 && fd >= 0)
		fd = open_checked(fds, node_at(fds->table, way[--depth]), fd,
				  O_PATH);
	return fd;
}

int node_fds_folder(struct node_fds *fds, struct node *node)
{
	if (node->type != S_IFDIR)
		return -ENOTDIR;
	return node_fds_path(fds, node);
}

static int reopen(int fd, int flags)
{
	char number[16];
	int opened;

	text_format(number, sizeof(number), "%d", fd);
	opened = open(number, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return opened < 0 ? -errno : opened;
}

static int open_folder(struct node_fds *fds, struct node *node)
{
	int fd = node_fds_path(fds, node), opened;

	if (fd < 0)
		return fd;
	opened = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened < 0)
		return -errno;
	node_fds_take(fds, node, opened, NODE_FD_READ);
	return opened;
}

/*
 * By name, which saves the way by O_PATH: of a file that nobody has. What lies
 * there may be something else by now, so nothing is waited for.
 */
static int open_named(struct node_fds *fds, struct node *node)
{
	int dir = node_fds_path(fds, node_parent(fds->table, node));

	return dir < 0 ? dir
		       : open_checked(fds, node, dir,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* The most that we get of what is wanted now and was had before. */
static int open_file(struct node_fds *fds, struct node *node, unsigned rights)
{
	int fd, opened;

	if (rights == NODE_FD_READ && node->fd < 0 && node->parent &&
	    !node->key.shadow)
		return open_named(fds, node);
	fd = node_fds_path(fds, node);
	if (fd < 0)
		return fd;
	if (rights == NODE_FD_READ && !(node->fd_rights & NODE_FD_WRITE)) {
		opened = reopen(fd, O_RDONLY);
	} else {
		opened = reopen(fd, O_RDWR);
		rights = NODE_FD_READ | NODE_FD_WRITE;
	}
	if (opened == -EACCES && rights != NODE_FD_READ) {
		rights = NODE_FD_WRITE;
		opened = reopen(fd, O_WRONLY);
	}
	if (opened < 0)
		return opened;
	node_fds_take(fds, node, opened, rights);
	return opened;
}

int node_fds_data(struct node_fds *fds, struct node *node, unsigned rights)
{
	if (node->type == S_IFDIR && (rights & NODE_FD_WRITE))
		return -EISDIR;
	if (node->type != S_IFREG && node->type != S_IFDIR)
		return -EINVAL;
	if (node->fd >= 0 && (node->fd_rights & rights) == rights)
		return touch(fds, node);
	return node->type == S_IFDIR ? open_folder(fds, node)
				     : open_file(fds, node, rights);
}

static int stat_by_name(struct node_fds *fds, struct node *node,
			struct statx *st)
{
	char name[NODE_NAME_MAX + 1];
	int dir;

	if (!node->parent || !node_name(fds->table, node, name))
		return -ESTALE;
	if (node->key.shadow) {
		dir = node_fds_path(fds, node);
		return dir < 0 ? dir : node_fds_stat(fds, node, st);
	}
	dir = node_fds_path(fds, node_parent(fds->table, node));
	if (dir < 0)
		return dir;
	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, SHARE_STATX,
		  st) < 0)
		return stale(-errno);
	return share_same_file(&node->key, st) ? 0 : -ESTALE;
}

int node_fds_stat(struct node_fds *fds, struct node *node, struct statx *st)
{
	int fd = fd_now(fds, node);

	if (fd < 0)
		return stat_by_name(fds, node, st);
	return statx(fd, "", AT_EMPTY_PATH, SHARE_STATX, st) < 0 ? -errno : 0;
}

struct node *node_fds_replaced(struct node_fds *fds, const struct node *folder,
			       const char *name, const struct node *other)
{
	uint32_t parent = node_index(fds->table, folder);
	char own[NODE_NAME_MAX + 1];

	for (uint32_t i = fds->newest; i; i = node_at(fds->table, i)->older) {
		struct node *node = node_at(fds->table, i);

		if (node->parent == parent && node != other && node->lookups &&
		    node_name(fds->table, node, own) && strcmp(own, name) == 0)
			return node;
	}
	return NULL;
}

/* The same file for reading, in the place of the old descriptor. */
static void give_back_write(struct node_fds *fds, struct node *node)
{
	int opened = reopen(node->fd, O_RDONLY), kept = node->fd_rights;

	if (opened < 0) {
		if (!(node->flags & NODE_ORPHAN))
			node_fds_drop(fds, node);
		return;
	}
	/* Not node_fds_take(): it is not in use. */
	close(node->fd);
	node->fd = opened;
	node->fd_rights = (uint8_t)(kept & NODE_FD_READ);
}

unsigned node_fds_sweep(struct node_fds *fds, node_free_fn *closed, void *ctx)
{
	uint32_t index = fds->oldest, since = fds->swept;
	unsigned left = 0;
	struct stat st;

	fds->swept = fds->request;
	while (index) {
		struct node *node = node_at(fds->table, index);

		index = node->newer;
		if (!(node->fd_rights & NODE_FD_WRITE))
			continue;
		if ((int32_t)(node->used - since) > 0) {
			left++;
			continue;
		}
		/*
		 * Made with a mode that forbids writing and still being
		 * written, as git makes its packs: we would not get it back.
		 */
		if (fstat(node->fd, &st) == 0 && !(st.st_mode & S_IWUSR))
			continue;
		closed(ctx, node);
		give_back_write(fds, node);
	}
	return left;
}
