/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_xattr.c - extended attributes of an entry
 *
 * libext2fs knows both places (behind the inode, a block of its own) and turns
 * POSIX ACLs from the form of getxattr(2) into the form on the disk.
 */
#include "image/ext4_writer_internal.h"

#include <errno.h>

#include "base/error.h"
#include "base/text.h"

/* What a Linux guest may read back; other systems' names are left out. */
static const char *const kept[] = {
	"user.",
	"security.",
	"trusted.",
	"system.posix_acl_access",
	"system.posix_acl_default",
};

static bool is_kept(const char *name)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (text_starts(name, kept[i]) &&
		    (!text_ends(kept[i], ".") || name[strlen(kept[i])]))
			return true;
	return false;
}

static int set_all(struct ext2_xattr_handle *handle,
		   const struct ext4_entry *entry, struct error *err)
{
	for (size_t i = 0; i < entry->xattr_count; i++) {
		const struct ext4_xattr *xattr = &entry->xattrs[i];
		char shown[80];
		errcode_t code;

		if (!is_kept(xattr->name))
			continue;
		text_printable(xattr->name, strlen(xattr->name), shown,
			       sizeof(shown));
		if (strlen(xattr->name) > 255 || xattr->len > EXT4_BLOCK)
			return error_set(
				err, 0, "the attribute %s is too large", shown);
		code = ext2fs_xattr_set(handle, xattr->name, xattr->value,
					xattr->len);
		if (code == EXT2_ET_EA_NO_SPACE)
			return error_set(err, 0,
					 "its attributes do not fit (4 kB)");
		if (code) {
			error_set(err, 0, "%s", error_message(code));
			return error_prefix(err, "the attribute %s", shown);
		}
	}
	return 0;
}

int ext4_xattr_clear(struct ext4_writer *writer, ext2_ino_t ino,
		     struct error *err)
{
	uint8_t empty[256] = { 0 };
	struct ext2_inode_large inode;
	blk64_t block;
	errcode_t code;

	if (ext4_inode_read(writer, ino, &inode, err) < 0)
		return -1;
	block = ext2fs_file_acl_block(writer->fs, (struct ext2_inode *)&inode);
	if (block) {
		ext2fs_block_alloc_stats2(writer->fs, block, -1);
		block_store_punch(writer->store, block * EXT4_BLOCK,
				  EXT4_BLOCK);
	}
	code = ext2fs_write_inode_full(
		writer->fs, ino, (struct ext2_inode *)empty, sizeof(empty));
	return code ? ext4_fail(err, code, "writing an inode") : 0;
}

int ext4_xattr_write(struct ext4_writer *writer, ext2_ino_t ino,
		     const struct ext4_entry *entry, struct error *err)
{
	struct ext2_xattr_handle *handle;
	errcode_t code;
	int result;

	if (entry->xattr_count == 0)
		return 0;
	code = ext2fs_xattrs_open(writer->fs, ino, &handle);
	if (code)
		return ext4_fail(err, code, "opening the attributes");
	result = set_all(handle, entry, err);
	if (result == 0) {
		code = ext2fs_xattrs_write(handle);
		if (code == EXT2_ET_EA_NO_SPACE)
			result = error_set(err, 0,
					   "its attributes do not fit (4 kB)");
		else if (code)
			result = ext4_fail(err, code, "writing the attributes");
	}
	ext2fs_xattrs_close(&handle);
	return result;
}
