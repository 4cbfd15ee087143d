/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_format.c - an empty ext4: the features of Debian's default, a journal,
 * and room in the descriptor table to grow online
 */
#include "image/ext4_writer_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "base/text.h"

/*
 * The same archive gives the same image, byte for byte: what stands on an image
 * names it by the archive's digest. So times are fixed, and what mke2fs takes
 * from the random pool comes from size and label.
 */
#define MADE_AT 1700000000
#define INODE_BYTES 256
#define BYTES_PER_INODE 16384
#define GROUPS_PER_FLEX_LOG 4
#define JOURNAL_BLOCKS 16384 /* 64 MiB: also right after growing to 1 TB */

int ext4_fail(struct error *err, errcode_t code, const char *text)
{
	if (code == EXT2_ET_BLOCK_ALLOC_FAIL ||
	    code == EXT2_ET_INODE_ALLOC_FAIL)
		return error_set(err, ENOSPC, "%s", text);
	if (code > 0 && code < 4096)
		return error_set(err, (int)code, "%s", text);
	return error_set(err, 0, "%s: %s", text, error_message(code));
}

static void choose_features(struct ext2_super_block *super)
{
	super->s_rev_level = EXT2_DYNAMIC_REV;
	super->s_log_block_size = 2;
	super->s_log_cluster_size = 2;
	super->s_inode_size = INODE_BYTES;
	super->s_log_groups_per_flex = GROUPS_PER_FLEX_LOG;
	super->s_feature_compat = EXT2_FEATURE_COMPAT_EXT_ATTR |
				  EXT2_FEATURE_COMPAT_RESIZE_INODE |
				  EXT2_FEATURE_COMPAT_DIR_INDEX;
	super->s_feature_incompat =
		EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_EXTENTS |
		EXT4_FEATURE_INCOMPAT_64BIT | EXT4_FEATURE_INCOMPAT_FLEX_BG;
	super->s_feature_ro_compat = EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER |
				     EXT2_FEATURE_RO_COMPAT_LARGE_FILE |
				     EXT4_FEATURE_RO_COMPAT_HUGE_FILE |
				     EXT4_FEATURE_RO_COMPAT_DIR_NLINK |
				     EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE |
				     EXT4_FEATURE_RO_COMPAT_METADATA_CSUM;
}

static int initialise(struct ext4_writer *writer, uint64_t bytes,
		      struct error *err)
{
	struct ext2_super_block param = { 0 };
	errcode_t code;

	choose_features(&param);
	ext2fs_blocks_count_set(&param, bytes / EXT4_BLOCK);
	param.s_inodes_count = (uint32_t)(bytes / BYTES_PER_INODE);
	code = ext2fs_initialize(
		"image", EXT2_FLAG_EXCLUSIVE | EXT2_FLAG_64BITS, &param,
		block_store_manager(writer->store), &writer->fs);
	return code ? ext4_fail(err, code, "making the file system") : 0;
}

static int choose_ids(struct ext2_super_block *super, const char *label,
		      struct error *err)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	char facts[64];

	text_format(facts, sizeof(facts), "bawn %s %" PRIu64, label,
		    (uint64_t)ext2fs_blocks_count(super));
	if (EVP_Digest(facts, strlen(facts), digest, NULL, EVP_sha256(),
		       NULL) != 1)
		return error_set(err, 0, "SHA-256 failed");
	memcpy(super->s_uuid, digest, sizeof(super->s_uuid));
	memcpy(super->s_hash_seed, digest + sizeof(super->s_uuid),
	       sizeof(super->s_hash_seed));
	super->s_uuid[6] = (super->s_uuid[6] & 0x0f) | 0x80;
	super->s_uuid[8] = (super->s_uuid[8] & 0x3f) | 0x80;
	return 0;
}

static int identify(ext2_filsys fs, const char *label, struct error *err)
{
	struct ext2_super_block *super = fs->super;
	size_t len = strlen(label);

	if (len > sizeof(super->s_volume_name))
		return error_set(err, 0, "the label is longer than %zu bytes",
				 sizeof(super->s_volume_name));
	memcpy(super->s_volume_name, label, len);
	if (choose_ids(super, label, err) < 0)
		return -1;
	super->s_checksum_type = EXT2_CRC32C_CHKSUM;
	ext2fs_init_csum_seed(fs);
	super->s_default_mount_opts = EXT2_DEFM_XATTR_USER | EXT2_DEFM_ACL;
	super->s_errors = EXT2_ERRORS_CONTINUE;
	fs->now = MADE_AT;
	super->s_mkfs_time = super->s_lastcheck = super->s_wtime =
		(uint32_t)fs->now;
	super->s_def_hash_version = EXT2_HASH_HALF_MD4;
	super->s_flags |= EXT2_FLAGS_UNSIGNED_HASH;
	super->s_min_extra_isize = super->s_want_extra_isize =
		sizeof(struct ext2_inode_large) - EXT2_GOOD_OLD_INODE_SIZE;
	super->s_max_mnt_count = -1;
	return 0;
}

static void reserve_inodes(ext2_filsys fs)
{
	/* The root is taken by ext4_tree_init(). */
	for (ext2_ino_t ino = 1; ino < EXT2_FIRST_INODE(fs->super); ino++)
		if (ino != EXT2_ROOT_INO)
			ext2fs_inode_alloc_stats2(fs, ino, +1, 0);
	for (dgrp_t i = 0; i < fs->group_desc_count; i++) {
		/* The file is one hole: nothing is left to be zeroed later. */
		ext2fs_bg_flags_set(fs, i, EXT2_BG_INODE_ZEROED);
		ext2fs_group_desc_csum_set(fs, i);
	}
}

static int add_journal(ext2_filsys fs, struct error *err)
{
	blk64_t blocks = ext2fs_blocks_count(fs->super);
	int journal = blocks >= 16ull * JOURNAL_BLOCKS
			      ? JOURNAL_BLOCKS
			      : ext2fs_default_journal_size(blocks);
	errcode_t code;

	if (journal <= 0)
		return error_set(err, 0, "the image is too small");
	code = ext2fs_add_journal_inode2(fs, (blk_t)journal, 0,
					 EXT2_MKJOURNAL_NO_MNT_CHECK |
						 EXT2_MKJOURNAL_LAZYINIT);
	return code ? ext4_fail(err, code, "making the journal") : 0;
}

int ext4_format(struct ext4_writer *writer, uint64_t bytes, const char *label,
		struct error *err)
{
	errcode_t code;

	if (initialise(writer, bytes, err) < 0 ||
	    identify(writer->fs, label, err) < 0)
		return -1;
	code = ext2fs_allocate_tables(writer->fs);
	if (code)
		return ext4_fail(err, code, "making the tables");
	reserve_inodes(writer->fs);
	code = ext2fs_update_bb_inode(writer->fs, NULL);
	if (code)
		return ext4_fail(err, code, "making the bad block inode");
	code = ext2fs_create_resize_inode(writer->fs);
	if (code)
		return ext4_fail(err, code, "making the resize inode");
	return add_journal(writer->fs, err);
}
