/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower.c - names of a share that the guest has an overlay over
 */
#include "files/lower.h"

#include <string.h>

#include "files/server.h"
#include "files/share.h"
#include "files/watch.h"

static bool is_lower(const struct server *server, const struct node *node)
{
	return server->shares[node->key.share].flags & RECORD_SHARE_OVERLAY;
}

static uint32_t *slot_of(struct server *server, uint32_t folder,
			 const char *name)
{
	uint32_t h = 2166136261U ^ folder * 0x9e3779b1U;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619U;
	return &server->lower.names[(h ^ h >> 16) % LOWER_NAMES];
}

void lower_remember(struct server *server, const struct node *node)
{
	char name[NODE_NAME_MAX + 1];

	if (is_lower(server, node) && node->parent &&
	    node_name(server->nodes, node, name))
		*slot_of(server, node->parent, name) =
			node_index(server->nodes, node);
}

/* Believes nothing of the table but the number. */
static struct node *named(struct server *server, const struct node *folder,
			  const char *name)
{
	uint32_t folder_index = node_index(server->nodes, folder);
	uint32_t index = *slot_of(server, folder_index, name);
	char known[NODE_NAME_MAX + 1];
	struct node *node;

	if (!index || index >= node_table_end(server->nodes))
		return NULL;
	node = node_at(server->nodes, index);
	if (!(node->flags & NODE_LIVE) || node->parent != folder_index ||
	    !node_name(server->nodes, node, known) || strcmp(known, name) != 0)
		return NULL;
	return node;
}

/* From now on it is this file. */
static int become(struct server *server, struct node *node,
		  const struct node_key *key)
{
	if (node_table_rekey(server->nodes, node, key) < 0)
		return -1;
	watch_forget(server, node);
	node_fds_drop(&server->fds, node);
	return 0;
}

/* It lay under another name and has none any more: no file has this key. */
static int become_nothing(struct server *server, struct node *node)
{
	struct node_key none = { .ino = node_index(server->nodes, node),
				 .btime_ns = node->generation,
				 .share = node->key.share };

	return become(server, node, &none);
}

struct node *lower_follow(struct server *server, struct node *folder,
			  const char *name, const struct statx *st)
{
	struct node *had, *now;
	struct node_key key;

	if (!is_lower(server, folder))
		return NULL;
	had = named(server, folder, name);
	key = share_key(folder->key.share, st);
	now = node_table_find(server->nodes, &key);
	if (!had || had == now || had->type != (st->stx_mode & S_IFMT))
		return NULL;
	/* A file of two names is one node, so it cannot be two names. */
	if (had->type != S_IFDIR && st->stx_nlink > 1)
		return NULL;
	if ((now && become_nothing(server, now) < 0) ||
	    become(server, had, &key) < 0)
		return NULL;
	return had;
}

void lower_follow_untold(struct server *server, struct node *folder,
			 const char *name, const struct statx *st)
{
	struct lower *lower = &server->lower;
	const struct node *node = lower_follow(server, folder, name, st);

	if (!node)
		return;
	if (lower->untold_count < LOWER_UNTOLD_MAX) {
		lower->untold[lower->untold_count] =
			node_table_id(server->nodes, node);
		lower->untold_share[lower->untold_count] = node->key.share;
	}
	lower->untold_count++;
}

void lower_tell(struct server *server)
{
	struct lower *lower = &server->lower;
	unsigned count = lower->untold_count;

	lower->untold_count = 0;
	if (count > LOWER_UNTOLD_MAX) {
		watch_drop(server);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		struct node *node =
			node_table_by_id(server->nodes, lower->untold_share[i],
					 lower->untold[i]);

		if (node)
			watch_tell_content(server, node);
	}
}
