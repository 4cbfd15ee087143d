/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower.h - names of a share that the guest has an overlay over
 *
 * overlayfs remembers which file of ours a name is, as long as anybody in the
 * guest has it open or stands in it, and answers ESTALE for the name when it
 * has become another one. Editors and git replace files. So below an overlay a
 * node is a name rather than an inode: when the host puts another file of the
 * same type there, the node becomes that one, and who has the old one open
 * goes on with the new one.
 *
 * Which node has a name is remembered in a table in which a newer name may take
 * the place of an older one; that one is then told as another file.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct node;
struct server;

#define LOWER_NAMES (1U << 16)
#define LOWER_UNTOLD_MAX 64

struct lower {
	uint32_t names[LOWER_NAMES]; /* nodes, by a hash of their place */
	/* Became another file while an answer was under way. */
	uint64_t untold[LOWER_UNTOLD_MAX];
	uint8_t untold_share[LOWER_UNTOLD_MAX];
	unsigned untold_count; /* over the maximum: too many to say */
};

/* The node was found where it lies now. */
void lower_remember(struct server *server, const struct node *node);
/* `st` is at `name`. Returns the node that became it, or NULL. */
struct node *lower_follow(struct server *server, struct node *folder,
			  const char *name, const struct statx *st);
/* The same in the midst of a request: lower_tell() tells the guest after it. */
void lower_follow_untold(struct server *server, struct node *folder,
			 const char *name, const struct statx *st);
void lower_tell(struct server *server);
