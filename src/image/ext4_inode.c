/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_inode.c - inodes: taking, filling, writing, giving back
 */
#include "image/ext4_writer_internal.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"

#define NSEC_PER_SEC 1000000000

int ext4_inode_take(struct ext4_writer *writer, bool is_dir, ext2_ino_t *ino,
		    struct error *err)
{
	ext2_filsys fs = writer->fs;
	ext2_ino_t last = fs->super->s_inodes_count;

	/* Those of replaced entries are looked for only when all are used. */
	if (writer->next_ino <= last)
		*ino = writer->next_ino++;
	else if (ext2fs_find_first_zero_inode_bitmap2(
			 fs->inode_map, EXT2_FIRST_INODE(fs->super), last,
			 ino) != 0)
		return error_set(err, ENOSPC, "the image has no inode left");
	ext2fs_inode_alloc_stats2(fs, *ino, +1, is_dir);
	return 0;
}

/* 34 bits of seconds, the upper two beside the nanoseconds. */
static void set_time(const struct timespec *time, uint32_t *seconds,
		     uint32_t *extra)
{
	int64_t sec = time->tv_sec;
	long nsec = time->tv_nsec;

	if (nsec < 0 || nsec >= NSEC_PER_SEC)
		nsec = 0;
	if (sec < INT32_MIN)
		sec = INT32_MIN;
	if (sec > INT32_MAX + (3ll << 32))
		sec = INT32_MAX + (3ll << 32);
	*seconds = (uint32_t)sec;
	*extra = (uint32_t)((uint64_t)(sec - (int32_t)sec) >> 32) & 3;
	*extra |= (uint32_t)nsec << 2;
}

static void set_device(struct ext2_inode_large *inode, uint32_t major,
		       uint32_t minor)
{
	if (major < 256 && minor < 256)
		inode->i_block[0] = major << 8 | minor;
	else
		inode->i_block[1] =
			(minor & 0xff) | major << 8 | (minor & ~0xffu) << 12;
}

void ext4_inode_fill(struct ext2_inode_large *inode,
		     const struct ext4_attr *attr)
{
	memset(inode, 0, sizeof(*inode));
	inode->i_mode = (uint16_t)attr->mode;
	inode->i_uid = (uint16_t)attr->uid;
	inode->i_gid = (uint16_t)attr->gid;
	ext2fs_set_i_uid_high(*inode, (uint16_t)(attr->uid >> 16));
	ext2fs_set_i_gid_high(*inode, (uint16_t)(attr->gid >> 16));
	inode->i_links_count = 1;
	inode->i_extra_isize =
		sizeof(struct ext2_inode_large) - EXT2_GOOD_OLD_INODE_SIZE;
	set_time(&attr->atime, &inode->i_atime, &inode->i_atime_extra);
	set_time(&attr->mtime, &inode->i_mtime, &inode->i_mtime_extra);
	set_time(&attr->ctime, &inode->i_ctime, &inode->i_ctime_extra);
	set_time(&attr->mtime, &inode->i_crtime, &inode->i_crtime_extra);
	if (S_ISCHR(attr->mode) || S_ISBLK(attr->mode))
		set_device(inode, attr->device_major, attr->device_minor);
}

int ext4_inode_write(struct ext4_writer *writer, ext2_ino_t ino,
		     struct ext2_inode_large *inode, struct error *err)
{
	errcode_t code = ext2fs_write_inode_full(
		writer->fs, ino, (struct ext2_inode *)inode, sizeof(*inode));

	return code ? ext4_fail(err, code, "writing an inode") : 0;
}

int ext4_inode_read(struct ext4_writer *writer, ext2_ino_t ino,
		    struct ext2_inode_large *inode, struct error *err)
{
	errcode_t code = ext2fs_read_inode_full(
		writer->fs, ino, (struct ext2_inode *)inode, sizeof(*inode));

	return code ? ext4_fail(err, code, "reading an inode") : 0;
}

struct freed_run {
	struct block_store *store;
	blk64_t first, count;
};

static void freed_run_flush(struct freed_run *run)
{
	if (run->count)
		block_store_punch(run->store, run->first * EXT4_BLOCK,
				  run->count * EXT4_BLOCK);
	run->count = 0;
}

static int give_back_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical,
			   blk64_t ref, int offset, void *ctx)
{
	struct freed_run *run = ctx;

	ext2fs_block_alloc_stats2(fs, *block, -1);
	if (*block != run->first + run->count)
		freed_run_flush(run);
	if (run->count == 0)
		run->first = *block;
	run->count++;
	return 0;
}

static int give_back(struct ext4_writer *writer, ext2_ino_t ino,
		     struct ext2_inode_large *inode, struct error *err)
{
	uint8_t empty[256] = { 0 };
	struct ext2_inode *small = (struct ext2_inode *)inode;
	struct freed_run run = { .store = writer->store };
	blk64_t attributes = ext2fs_file_acl_block(writer->fs, small);
	errcode_t code = 0;

	if (ext2fs_inode_has_valid_blocks2(writer->fs, small))
		code = ext2fs_block_iterate3(writer->fs, ino,
					     BLOCK_FLAG_READ_ONLY, NULL,
					     give_back_block, &run);
	freed_run_flush(&run);
	if (!code && attributes) {
		ext2fs_block_alloc_stats2(writer->fs, attributes, -1);
		block_store_punch(writer->store, attributes * EXT4_BLOCK,
				  EXT4_BLOCK);
	}
	if (!code)
		code = ext2fs_write_inode_full(writer->fs, ino,
					       (struct ext2_inode *)empty,
					       sizeof(empty));
	return code ? ext4_fail(err, code, "replacing an older entry") : 0;
}

int ext4_inode_drop(struct ext4_writer *writer, ext2_ino_t ino, bool is_dir,
		    struct error *err)
{
	struct ext2_inode_large inode;

	if (ext4_inode_read(writer, ino, &inode, err) < 0)
		return -1;
	if (!is_dir && inode.i_links_count > 1) {
		inode.i_links_count--;
		return ext4_inode_write(writer, ino, &inode, err);
	}
	if (give_back(writer, ino, &inode, err) < 0)
		return -1;
	ext2fs_inode_alloc_stats2(writer->fs, ino, -1, is_dir);
	writer->stats.files--;
	return 0;
}
