/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what a guest may see and change in a share
 *
 * Every operation that changes anything asks policy_change() before its first
 * system call. This is the one place for rules about changes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct node;
struct server;

enum policy_what {
	POLICY_CONTENT, /* data, attributes or links of `node` */
	POLICY_CREATE,  /* `name` in folder `node`, of `type` */
	POLICY_REMOVE,  /* `name` in folder `node`, of `type` */
};

struct policy_change {
	enum policy_what what;
	struct node *node;
	const char *name;
	mode_t type; /* S_IFMT part; 0: may be a file or a folder */
};

/* 0 or a negative errno. */
int policy_change(struct server *server, const struct policy_change *change);

/* Absent in the guest by pattern. -ESTALE, 0 or 1. */
int policy_hides(struct server *server, struct node *folder, const char *name,
		 mode_t type);
/* The same, also for another name of a hidden file. A negative errno, 0, 1. */
int policy_hides_name(struct server *server, struct node *folder,
		      const char *name, mode_t type);
/* Absent in the guest because it is bawn's own, or hidden by another name. */
bool policy_is_absent(const struct server *server, const struct statx *st);
/*
 * The host has another name for it that is held: what is written here is run
 * there.
 */
bool policy_is_frozen(const struct server *server, const struct node *node,
		      const struct statx *st);
/* Root of another share that is read-only: so is all beneath it, here too. */
bool policy_is_read_only(const struct server *server, const struct statx *st);
/* A folder that must stay where it is, or what is hidden in it would show. */
int policy_may_move(struct server *server, struct node *folder,
		    const char *name);

/* Quota. -EDQUOT when `bytes` more are not allowed. */
int policy_may_add(struct server *server, unsigned share, uint64_t bytes);
/* Blocks of 512 bytes before and after a change. */
void policy_charge(struct server *server, unsigned share, uint64_t before,
		   uint64_t after);
void policy_created(struct server *server, unsigned share);
/* Its last name is gone; `blocks` come back now or, if it lives on, later. */
void policy_removed(struct server *server, unsigned share, uint64_t blocks);
/* A node is about to be freed. */
void policy_node_gone(struct server *server, const struct node *node);
