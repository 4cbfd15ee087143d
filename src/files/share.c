/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - one shared folder or file, and how its files look inside
 */
#include "files/share.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/text.h"
uint64_t share_dev(const struct statx *st)
{
	return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

struct node_key share_key(unsigned share, const struct statx *st)
{
	struct node_key key = { .dev = share_dev(st),
				.ino = st->stx_ino,
				.share = (uint8_t)share,
				.shadow = st->stx_mask & SHARE_SHADOW };

	if (st->stx_mask & STATX_BTIME)
		key.btime_ns = (uint64_t)st->stx_btime.tv_sec * 1000000000U +
			       st->stx_btime.tv_nsec;
	return key;
}

bool share_same_file(const struct node_key *key, const struct statx *st)
{
	struct node_key other = share_key(key->share, st);

	return key->dev == other.dev && key->ino == other.ino &&
	       key->btime_ns == other.btime_ns;
}

uint64_t share_ino(const struct share *share, uint64_t dev, uint64_t ino)
{
	/* Other file systems beneath the root must not repeat its numbers. */
	if (dev == share->root_dev)
		return ino;
	return ino ^
	       ((dev * 0x9e3779b97f4a7c15ULL | 1) & 0xffff000000000000ULL);
}

void share_attr(const struct share *share, const struct share_guest *guest,
		const struct statx *st, struct fuse_attr *attr)
{
	uint32_t hidden_bits = S_ISDIR(st->stx_mode) ? 0 : S_ISUID | S_ISGID;

	*attr = (struct fuse_attr){
		.ino = share_ino(share, share_dev(st), st->stx_ino),
		.size = st->stx_size,
		.blocks = st->stx_blocks,
		.atime = (uint64_t)st->stx_atime.tv_sec,
		.mtime = (uint64_t)st->stx_mtime.tv_sec,
		.ctime = (uint64_t)st->stx_ctime.tv_sec,
		.atimensec = st->stx_atime.tv_nsec,
		.mtimensec = st->stx_mtime.tv_nsec,
		.ctimensec = st->stx_ctime.tv_nsec,
		.mode = st->stx_mode & ~hidden_bits,
		.nlink = st->stx_nlink,
		.uid = st->stx_uid == share->owner_uid ? guest->uid
						       : SHARE_NOBODY,
		.gid = st->stx_gid == share->owner_gid ? guest->gid
						       : SHARE_NOBODY,
		.rdev = (uint32_t)makedev(st->stx_rdev_major,
					  st->stx_rdev_minor),
		.blksize = st->stx_blksize,
	};
}

const char *share_way(const struct share *outer, const struct share *inner)
{
	size_t len = strlen(outer->guest_path);

	if (outer->gone || inner->gone)
		return NULL;
	/* the root alone ends with a slash */
	if (len && outer->guest_path[len - 1] == '/')
		len--;
	if (strncmp(inner->guest_path, outer->guest_path, len) != 0 ||
	    inner->guest_path[len] != '/' || !inner->guest_path[len + 1])
		return NULL;
	return inner->guest_path + len + 1;
}

bool share_overlaps(const struct share *a, const struct share *b)
{
	return !a->gone && !b->gone &&
	       (text_is_within(a->path, b->path) ||
		text_is_within(b->path, a->path));
}

mode_t share_new_mode(uint32_t guest_mode, mode_t type, mode_t old)
{
	if (type == S_IFDIR)
		return (guest_mode & 01777) | (old & S_ISGID);
	return guest_mode & 0777;
}
