/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_htree.c - directories with an index (dir_index)
 *
 * All names are known, so the index is built in one go: sort by hash, pack the
 * leaves, then put one index block (or a root over several) above them.
 * Block 0 is the root, leaves follow, inner index blocks come last. Leaves are
 * not packed full, or the guest's first new name would split one.
 */
#include "image/ext4_writer_internal.h"

#include "base/error.h"
#include "base/mem.h"

#define TAIL_BYTES 12      /* checksum entry at the end of a leaf */
#define LEAF_FILL 3600     /* of EXT4_BLOCK - TAIL_BYTES */
#define DX_TAIL_BYTES 8    /* checksum at the end of an index block */
#define ROOT_ENTRIES_AT 32 /* ".", "..", and the description of the tree */
#define NODE_ENTRIES_AT 8  /* one empty directory entry */
#define DX_ENTRY_BYTES 8
#define ROOT_LIMIT \
	((EXT4_BLOCK - ROOT_ENTRIES_AT - DX_TAIL_BYTES) / DX_ENTRY_BYTES)
#define NODE_LIMIT \
	((EXT4_BLOCK - NODE_ENTRIES_AT - DX_TAIL_BYTES) / DX_ENTRY_BYTES)

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

size_t ext4_dirent_size(uint8_t name_len)
{
	return (8u + name_len + 3u) & ~3u;
}

size_t ext4_dirent_put(uint8_t *block, size_t offset, ext2_ino_t ino,
		       const char *name, uint8_t len, uint8_t type)
{
	size_t size = ext4_dirent_size(len);

	put_u32(block + offset, ino);
	put_u16(block + offset + 4, (uint16_t)size);
	block[offset + 6] = len;
	block[offset + 7] = type;
	memcpy(block + offset + 8, name, len);
	return offset + size;
}

void ext4_dirent_close(ext2_filsys fs, uint8_t *block, size_t last)
{
	put_u16(block + last + 4, (uint16_t)(EXT4_BLOCK - TAIL_BYTES - last));
	ext2fs_initialize_dirent_tail(fs,
				      EXT2_DIRENT_TAIL(block, fs->blocksize));
}

static int compare(const void *a, const void *b)
{
	const struct ext4_name *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	return 0;
}

static int hash_all(ext2_filsys fs, struct ext4_name *names, size_t count,
		    struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		errcode_t code = ext2fs_dirhash2(
			EXT2_HASH_HALF_MD4_UNSIGNED, names[i].name,
			names[i].len, NULL, 0, fs->super->s_hash_seed,
			&names[i].hash, &names[i].minor);

		if (code)
			return ext4_fail(err, code, "hashing a name");
	}
	qsort(names, count, sizeof(*names), compare);
	return 0;
}

struct tree {
	ext2_filsys fs;
	uint8_t *blocks;       /* owned until handed over */
	uint32_t *leaf_hashes; /* owned; the first hash of each leaf */
	size_t leaves;
};

/* How many names go into the next leaf. */
static size_t leaf_names(const struct ext4_name *names, size_t count)
{
	size_t used = 0, n = 0;

	while (n < count && used + ext4_dirent_size(names[n].len) <= LEAF_FILL)
		used += ext4_dirent_size(names[n++].len);
	return n;
}

static void fill_leaf(struct tree *tree, const struct ext4_name *names,
		      size_t count)
{
	uint8_t *block = tree->blocks + (tree->leaves + 1) * EXT4_BLOCK;
	size_t offset = 0, last = 0;

	for (size_t i = 0; i < count; i++) {
		last = offset;
		offset = ext4_dirent_put(block, offset, names[i].ino,
					 names[i].name, names[i].len,
					 names[i].type);
	}
	ext4_dirent_close(tree->fs, block, last);
	tree->leaves++;
}

static void fill_leaves(struct tree *tree, const struct ext4_name *names,
			size_t count)
{
	uint32_t before = 0;

	for (size_t i = 0; i < count;) {
		size_t n = leaf_names(names + i, count - i);
		uint32_t hash = names[i].hash;

		/* The lowest bit says that the hash began in the last leaf. */
		tree->leaf_hashes[tree->leaves] =
			i > 0 && hash == before ? hash | 1 : hash;
		before = names[i + n - 1].hash;
		fill_leaf(tree, names + i, n);
		i += n;
	}
}

/* limit, count and block of the first entry share the place of its hash. */
static void index_begin(uint8_t *entries, size_t limit, size_t count,
			uint32_t first_block)
{
	put_u16(entries, (uint16_t)limit);
	put_u16(entries + 2, (uint16_t)count);
	put_u32(entries + 4, first_block);
}

static void index_entry(uint8_t *entries, size_t i, uint32_t hash,
			uint32_t block)
{
	put_u32(entries + i * DX_ENTRY_BYTES, hash);
	put_u32(entries + i * DX_ENTRY_BYTES + 4, block);
}

static uint8_t *begin_root(uint8_t *block, ext2_ino_t ino, ext2_ino_t parent,
			   uint8_t levels)
{
	ext4_dirent_put(block, 0, ino, ".", 1, EXT2_FT_DIR);
	ext4_dirent_put(block, 12, parent, "..", 2, EXT2_FT_DIR);
	put_u16(block + 12 + 4, EXT4_BLOCK - 12);
	block[24 + 4] = EXT2_HASH_HALF_MD4;
	block[24 + 5] = 8; /* length of this description */
	block[24 + 6] = levels;
	return block + ROOT_ENTRIES_AT;
}

static void fill_index(struct tree *tree, ext2_ino_t ino, ext2_ino_t parent,
		       size_t nodes)
{
	uint8_t *root = begin_root(tree->blocks, ino, parent, nodes ? 1 : 0);

	index_begin(root, ROOT_LIMIT, nodes ? nodes : tree->leaves,
		    nodes ? (uint32_t)tree->leaves + 1 : 1);
	for (size_t i = 1; !nodes && i < tree->leaves; i++)
		index_entry(root, i, tree->leaf_hashes[i], (uint32_t)i + 1);
	for (size_t n = 0; n < nodes; n++) {
		uint32_t number = (uint32_t)(tree->leaves + 1 + n);
		uint8_t *block = tree->blocks + (size_t)number * EXT4_BLOCK;
		size_t from = n * NODE_LIMIT, count = tree->leaves - from;

		if (count > NODE_LIMIT)
			count = NODE_LIMIT;
		put_u16(block + 4, EXT4_BLOCK);
		index_begin(block + NODE_ENTRIES_AT, NODE_LIMIT, count,
			    (uint32_t)from + 1);
		for (size_t i = 1; i < count; i++)
			index_entry(block + NODE_ENTRIES_AT, i,
				    tree->leaf_hashes[from + i],
				    (uint32_t)(from + i) + 1);
		if (n > 0)
			index_entry(root, n, tree->leaf_hashes[from], number);
	}
}

int ext4_htree_build(ext2_filsys fs, ext2_ino_t ino, ext2_ino_t parent,
		     struct ext4_name *names, size_t name_count,
		     uint8_t **blocks, size_t *count, struct error *err)
{
	struct tree tree = { .fs = fs };
	size_t leaves = 0, nodes = 0;

	if (hash_all(fs, names, name_count, err) < 0)
		return -1;
	for (size_t i = 0; i < name_count; leaves++)
		i += leaf_names(names + i, name_count - i);
	if (leaves > ROOT_LIMIT)
		nodes = (leaves + NODE_LIMIT - 1) / NODE_LIMIT;
	if (nodes > ROOT_LIMIT)
		return error_set(err, 0, "a folder has too many entries");
	*count = 1 + leaves + nodes;
	tree.blocks = xcalloc(*count, EXT4_BLOCK);
	tree.leaf_hashes = xcalloc(leaves, sizeof(*tree.leaf_hashes));
	fill_leaves(&tree, names, name_count);
	fill_index(&tree, ino, parent, nodes);
	free(tree.leaf_hashes);
	*blocks = tree.blocks;
	return 0;
}
