/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_store.h - the image file as libext2fs sees it
 *
 * An io_manager over an open descriptor: libext2fs's own ones open a path or
 * write block by block. The file begins empty, so a block that was never
 * written is known to be zero and is not read; metadata stays in memory until
 * the end and leaves in long runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ext2fs/ext2fs.h>

struct error;
struct block_store;

#define BLOCK_STORE_BLOCK 4096u

/*
 * fd is borrowed: an empty regular file, or -1 to keep metadata in memory and
 * drop file data (for tests). The store outlives the ext2_filsys that uses it.
 */
struct block_store *block_store_new(int fd, uint64_t bytes);
void block_store_free(struct block_store *store);
/* For ext2fs_initialize(); the next open takes this store. */
io_manager block_store_manager(struct block_store *store);

/*
 * File data, straight to the descriptor: collected while it is contiguous.
 * offset is where it lies in the image. Blocks of metadata and of data never
 * overlap, because both come from one allocation bitmap.
 */
int block_store_data(struct block_store *store, uint64_t offset,
		     const void *bytes, size_t len, struct error *err);
/* Gives a freed range back to the host; it reads as zero again. */
void block_store_punch(struct block_store *store, uint64_t offset,
		       uint64_t len);
/* Writes all that is held and sets the file's length. */
int block_store_finish(struct block_store *store, struct error *err);
