/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_table.c - what the guest's kernel knows, by numbers that prove nothing
 */
#include "files/node_table_internal.h"

#include <assert.h>
#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

static_assert(sizeof(struct node) <= 96, "200,000 nodes fit in 64 MB");

uint32_t node_bucket(const struct node_key *key)
{
	uint64_t h = key->ino * 0x9e3779b97f4a7c15ULL;

	h ^= (key->dev + key->share) * 0xc2b2ae3d27d4eb4fULL;
	h ^= key->btime_ns * 0x165667b19e3779f9ULL;
	return (uint32_t)(h >> 40) % BUCKETS;
}

static bool same_key(const struct node_key *a, const struct node_key *b)
{
	return a->ino == b->ino && a->dev == b->dev &&
	       a->btime_ns == b->btime_ns && a->share == b->share &&
	       a->shadow == b->shadow;
}

static int map_region(struct node_table *table, int memory_fd,
		      struct error *err)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct stat st;
	void *memory;

	if (memory_fd >= 0) {
		if (fstat(memory_fd, &st) < 0)
			return error_set(err, errno, "node memory");
		/* One without answers is an older version's. */
		if (st.st_size != 0 &&
		    st.st_size != (off_t)sizeof(struct region) &&
		    st.st_size != (off_t)offsetof(struct region, replies))
			return error_set(err, 0, "node memory: wrong size");
		if (ftruncate(memory_fd, sizeof(struct region)) < 0)
			return error_set(err, errno, "node memory");
		flags = MAP_SHARED;
	}
	memory = mmap(NULL, sizeof(struct region), PROT_READ | PROT_WRITE,
		      flags, memory_fd, 0);
	if (memory == MAP_FAILED)
		return error_set(err, errno, "node memory");
	table->region = memory;
	return 0;
}

struct node_table *node_table_new(int memory_fd, struct error *err)
{
	struct node_table *table = xcalloc(1, sizeof(*table));
	struct region *region;

	if (map_region(table, memory_fd, err) < 0) {
		free(table);
		return NULL;
	}
	region = table->region;
	if (region->magic == REGION_MAGIC) {
		node_table_recover(table);
		return table;
	}
	region->node_end = FIRST_INDEX;
	region->block_end = 1;
	region->magic = REGION_MAGIC;
	return table;
}

void node_table_free(struct node_table *table)
{
	if (!table)
		return;
	munmap(table->region, sizeof(struct region));
	free(table);
}

void node_table_on_free(struct node_table *table, node_free_fn *fn, void *ctx)
{
	table->on_free = fn;
	table->on_free_ctx = ctx;
}

struct node *node_at(struct node_table *table, uint32_t index)
{
	return &table->region->nodes[index];
}

uint32_t node_index(const struct node_table *table, const struct node *node)
{
	return (uint32_t)(node - table->region->nodes);
}

bool node_is_root(const struct node_table *table, const struct node *node)
{
	return node_index(table, node) < FIRST_INDEX;
}

uint64_t node_table_id(const struct node_table *table, const struct node *node)
{
	if (node_is_root(table, node))
		return FUSE_ROOT_ID;
	return (uint64_t)node->generation << 32 | node_index(table, node);
}

struct node *node_table_by_id(struct node_table *table, unsigned share,
			      uint64_t id)
{
	uint32_t index = (uint32_t)id;
	struct node *node;

	if (share >= NODE_SHARES_MAX)
		return NULL;
	if (id == FUSE_ROOT_ID) {
		node = node_at(table, share + 1);
		return node->flags & NODE_LIVE ? node : NULL;
	}
	if (index < FIRST_INDEX || index >= table->region->node_end)
		return NULL;
	node = node_at(table, index);
	if (!(node->flags & NODE_LIVE) || node->generation != id >> 32 ||
	    node->key.share != share || node->lookups == 0)
		return NULL;
	return node;
}

struct node *node_table_find(struct node_table *table,
			     const struct node_key *key)
{
	uint32_t index = table->region->buckets[node_bucket(key)];

	while (index) {
		struct node *node = node_at(table, index);

		if (same_key(&node->key, key))
			return node;
		index = node->hash_next;
	}
	return NULL;
}

void node_hash(struct node_table *table, struct node *node)
{
	uint32_t *bucket = &table->region->buckets[node_bucket(&node->key)];

	node->hash_next = *bucket;
	*bucket = node_index(table, node);
}

static void hash_remove(struct node_table *table, struct node *node)
{
	uint32_t *link = &table->region->buckets[node_bucket(&node->key)];
	uint32_t index = node_index(table, node);

	while (*link && *link != index)
		link = &node_at(table, *link)->hash_next;
	if (*link)
		*link = node->hash_next;
}

void node_reset(struct node *node, const struct node_key *key, uint16_t type)
{
	uint32_t generation = node->generation + 1;

	*node = (struct node){ .key = *key,
			       .type = type,
			       .flags = NODE_LIVE,
			       .fd = -1,
			       .watch = -1 };
	/* 0 would make an id that looks like a root's. */
	node->generation = generation ? generation : 1;
}

struct node *node_table_set_root(struct node_table *table,
				 const struct node_key *key, uint16_t type)
{
	struct node *root = node_at(table, key->share + 1U);

	if (root->flags & NODE_LIVE) {
		hash_remove(table, root);
		root->key = *key;
		root->type = type;
	} else {
		node_reset(root, key, type);
		table->region->live++;
	}
	node_hash(table, root);
	return root;
}

struct node *node_take(struct node_table *table)
{
	struct region *region = table->region;
	uint32_t index = region->node_free;

	if (index) {
		region->node_free = node_at(table, index)->hash_next;
	} else {
		if (region->node_end == NODE_NODES_MAX)
			return NULL;
		index = region->node_end++;
	}
	return node_at(table, index);
}

void node_give_back(struct node_table *table, struct node *node)
{
	node->flags = 0;
	node->hash_next = table->region->node_free;
	table->region->node_free = node_index(table, node);
}

struct node *node_table_add(struct node_table *table,
			    const struct node_key *key, uint16_t type)
{
	struct node *node = node_take(table);

	if (!node)
		return NULL;
	node_reset(node, key, type);
	node_hash(table, node);
	table->region->live++;
	return node;
}

int node_table_rekey(struct node_table *table, struct node *node,
		     const struct node_key *key)
{
	if (node_is_root(table, node) || node_table_find(table, key))
		return -1;
	hash_remove(table, node);
	node->key = *key;
	node_hash(table, node);
	return 0;
}

static void drop_name(struct node_table *table, struct node *node)
{
	struct region *region = table->region;
	uint32_t index = node->name;

	while (index) {
		uint32_t next = region->blocks[index].next;

		region->blocks[index].next = region->block_free;
		region->block_free = index;
		index = next;
	}
	node->name = 0;
}

static uint32_t take_block(struct region *region)
{
	uint32_t index = region->block_free;

	if (index) {
		region->block_free = region->blocks[index].next;
		return index;
	}
	return region->block_end < NAME_BLOCKS ? region->block_end++ : 0;
}

static int store_name(struct node_table *table, struct node *node,
		      const char *name)
{
	struct region *region = table->region;
	size_t left = strlen(name);
	uint32_t *link = &node->name;

	while (left) {
		size_t part = left < BLOCK_TEXT ? left : BLOCK_TEXT;
		uint32_t index = take_block(region);
		struct name_block *block = &region->blocks[index];

		if (!index) {
			drop_name(table, node);
			return -1;
		}
		memcpy(block->text, name, part);
		block->len = (uint8_t)part;
		block->next = 0;
		*link = index;
		link = &block->next;
		name += part;
		left -= part;
	}
	return 0;
}

size_t node_name(const struct node_table *table, const struct node *node,
		 char name[NODE_NAME_MAX + 1])
{
	const struct region *region = table->region;
	size_t len = 0;

	for (uint32_t i = node->name; i; i = region->blocks[i].next) {
		const struct name_block *block = &region->blocks[i];

		if (len + block->len > NODE_NAME_MAX)
			break;
		memcpy(name + len, block->text, block->len);
		len += block->len;
	}
	name[len] = '\0';
	return len;
}

struct node *node_parent(struct node_table *table, const struct node *node)
{
	return node->parent ? node_at(table, node->parent) : NULL;
}

static bool is_free(const struct node_table *table, const struct node *node)
{
	return !node->lookups && !node->refs && !node_is_root(table, node);
}

/* Takes the place away; returns the old parent, which may be free now. */
static struct node *leave_place(struct node_table *table, struct node *node)
{
	struct node *parent = node_parent(table, node);

	drop_name(table, node);
	node->parent = 0;
	if (parent)
		parent->refs--;
	return parent;
}

static void free_chain(struct node_table *table, struct node *node)
{
	while (node && (node->flags & NODE_LIVE) && is_free(table, node)) {
		struct node *parent;

		if (table->on_free)
			table->on_free(table->on_free_ctx, node);
		parent = leave_place(table, node);
		hash_remove(table, node);
		node_give_back(table, node);
		table->region->live--;
		node = parent;
	}
}

void node_table_displace(struct node_table *table, struct node *node)
{
	struct node *parent;

	if (!node->parent)
		return;
	parent = leave_place(table, node);
	free_chain(table, parent);
}

/*
 * The host may have moved folders so that `node` is now beneath something that
 * the table still has beneath `node`. That one's place is out of date.
 */
static void break_cycle(struct node_table *table, struct node *node,
			struct node *parent)
{
	uint32_t index = node_index(table, node);

	if (!node->refs)
		return;
	for (struct node *at = parent; at && at->parent;
	     at = node_parent(table, at)) {
		if (at->parent == index) {
			leave_place(table, at);
			return;
		}
	}
}

int node_table_place(struct node_table *table, struct node *node,
		     struct node *parent, const char *name)
{
	char old[NODE_NAME_MAX + 1];
	struct node *left;

	if (node_is_root(table, node) || node == parent ||
	    !(node->flags & NODE_LIVE))
		return -1;
	node->flags &= (uint8_t)~NODE_ORPHAN;
	if (node->parent == node_index(table, parent) &&
	    node_name(table, node, old) && strcmp(old, name) == 0)
		return 0;
	break_cycle(table, node, parent);
	/* First the new one: the old parent may be an ancestor of it. */
	parent->refs++;
	left = leave_place(table, node);
	if (store_name(table, node, name) < 0) {
		parent->refs--;
		free_chain(table, left);
		return -1;
	}
	node->parent = node_index(table, parent);
	free_chain(table, left);
	return 0;
}

void node_table_forget(struct node_table *table, struct node *node,
		       uint64_t count)
{
	node->lookups = count < node->lookups ? node->lookups - count : 0;
	free_chain(table, node);
}

void node_table_clear(struct node_table *table, unsigned share)
{
	for (uint32_t i = FIRST_INDEX; i < table->region->node_end; i++) {
		struct node *node = node_at(table, i);

		if ((node->flags & NODE_LIVE) && node->key.share == share) {
			node->lookups = 0;
			free_chain(table, node);
		}
	}
}

int node_path(struct node_table *table, const struct node *node,
	      const char *name, char *path, size_t size)
{
	char part[NODE_NAME_MAX + 1];
	size_t start = size, len;

	if (size == 0)
		return -1;
	path[--start] = '\0';
	for (int depth = 0;; depth++) {
		if (name) {
			len = strlen(name);
			if (depth > NODE_DEPTH_MAX || len + 1 > start)
				return -1;
			/* The slash goes over the end of what follows. */
			if (start != size - 1)
				path[--start] = '/';
			start -= len;
			memcpy(path + start, name, len);
		}
		if (node_is_root(table, node))
			break;
		if (!node->parent || !node_name(table, node, part))
			return -1;
		name = part;
		node = node_parent(table, node);
	}
	memmove(path, path + start, size - start);
	return 0;
}

size_t node_table_count(const struct node_table *table)
{
	return table->region->live;
}

uint32_t node_table_end(const struct node_table *table)
{
	return table->region->node_end;
}

struct node_usage *node_table_usage(struct node_table *table, unsigned share)
{
	return &table->region->usage[share];
}

struct reply_ring *node_table_replies(struct node_table *table)
{
	return &table->region->replies;
}
