/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - one shared folder or file, and how its files look inside
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <linux/fuse.h>

#include "base/hide_pattern.h"
#include "base/guard.h"
#include "files/node_table.h"
#include "files/shadow.h"

#define SHARE_NOBODY 65534
#define SHARE_STATX (STATX_BASIC_STATS | STATX_BTIME)
/* Ours, in stx_mask: found in the shadow (shadow.h). No kernel sets it. */
#define SHARE_SHADOW 0x40000000U

struct share {
	char *path;       /* owned; on the host, for messages */
	char *guest_path; /* owned; where the relay mounts it */
	int root_fd;      /* owned, O_PATH */
	bool read_only;
	bool gone;                     /* not shared any more; no root_fd */
	uint32_t flags;                /* as WELCOME says: record.h */
	bool initialised;              /* INIT was answered */
	bool holds_others;             /* some are mounted within it */
	bool overlaps;                 /* another has the same files */
	uint32_t owner_uid, owner_gid; /* of the root: `agent` inside */
	uint64_t root_dev;
	uint64_t quota_bytes, quota_inodes; /* 0: no limit */
	struct hide_list hide;
	bool guarded;                   /* the rest has a meaning only then */
	bool folds_case;                /* may take `a` for `A` */
	struct guard_state *guard_root; /* owned */
	struct guard_state *guard_git;  /* owned; that of any `.git` */
	struct shadow shadow;
};

/* The guest's user that the host's owner is shown as. */
struct share_guest {
	uint32_t uid, gid;
};

struct node_key share_key(unsigned share, const struct statx *st);
bool share_same_file(const struct node_key *key, const struct statx *st);
uint64_t share_dev(const struct statx *st);
/* Set-id bits of files are not shown, other owners are nobody. */
void share_attr(const struct share *share, const struct share_guest *guest,
		const struct statx *st, struct fuse_attr *attr);
/* What a host folder entry is called inside, by its number alone. */
uint64_t share_ino(const struct share *share, uint64_t dev, uint64_t ino);
/* Where inner is mounted within outer, seen from there; NULL: it is not. */
const char *share_way(const struct share *outer, const struct share *inner);
/* Does one of them lie within the other, on the host? */
bool share_overlaps(const struct share *a, const struct share *b);
/* Of the bits that a guest asked for, those that it gets. */
mode_t share_new_mode(uint32_t guest_mode, mode_t type, mode_t old);
