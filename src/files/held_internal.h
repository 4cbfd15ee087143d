/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_internal.h - what held*.c share
 */
#pragma once

#include "files/held.h"
#include "files/server.h"
#include "files/shadow.h"

/* NULL: its share is not guarded. */
struct share *held_share(struct server *server, const struct node *node);
int held_enter(struct server *server, const struct node *folder,
	       struct held_folder **entered);
/* The path of an entry; until the next call. */
int held_path(struct server *server, const struct node *folder,
	      const char *name, const char **path);
/* enum guard_class, or a negative errno. */
int held_class(struct server *server, const struct node *folder,
	       const char *name, mode_t type);
/* Something in the shadow is not as it was in this request. */
void held_changed(struct server *server);
bool held_host_has(struct server *server, struct node *folder, const char *name,
		   struct statx *st);
/* Notes it when it is of the shown ones. */
int held_shown(struct server *server, const struct node *folder,
	       const char *name, mode_t type);
/* The node means another file from now on. */
int held_rekey(struct server *server, struct node *node,
	       const struct statx *st);
void held_tell_later(struct server *server, const struct node *folder,
		     const char *name);
/* Into the shadow, under this name; *st is then what lies there. */
int held_copy(struct server *server, const struct node *folder,
	      const char *name, const struct shadow_source *source,
	      struct statx *st);
