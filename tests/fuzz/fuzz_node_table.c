/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_node_table.c - bytes become steps on a node table, which a plain list
 * beside it must agree with
 *
 * The last kind of step breaks bytes of the region, as a predecessor that died
 * or was taken over may have: then the list says nothing any more, but what is
 * found must hang together, and all of it can be freed.
 */
#include "files/node_table_internal.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "lib/fuzz.h"

#define STEPS_MAX 256
#define SHARES 2
#define SLOTS 24 /* the first SHARES of them are roots */
#define OLD_IDS 64
#define RESERVED 8
#define WALK_MAX 512

struct model {
	bool live;
	uint8_t share;
	uint64_t ino, id, lookups;
	int parent; /* slot; -1: none */
	uint16_t type;
	char name[NODE_NAME_MAX + 1];
	struct node *node;
};

/* An id without a node; 0: this place is empty. */
struct reserved {
	uint64_t id;
	uint8_t share;
};

struct input {
	const uint8_t *at, *end;
};

static struct node_table *table;
static struct model slots[SLOTS];
static struct reserved reserved[RESERVED];
static uint64_t old_ids[OLD_IDS];
static size_t old_count, freed;

static unsigned take(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

static struct node_key key_of(unsigned share, uint64_t ino)
{
	return (struct node_key){
		.dev = 1, .ino = ino, .btime_ns = 5, .share = (uint8_t)share
	};
}

static void count_freed(void *ctx, struct node *node)
{
	FUZZ_CHECK(node->flags & NODE_LIVE);
	freed++;
}

static void set_root(unsigned share, uint64_t ino)
{
	struct node_key key = key_of(share, ino);
	struct model *slot = &slots[share];

	slot->node = node_table_set_root(table, &key, S_IFDIR);
	slot->live = true;
	slot->share = (uint8_t)share;
	slot->ino = ino;
	slot->id = FUSE_ROOT_ID;
	slot->parent = -1;
	slot->type = S_IFDIR;
}

static bool has_children(int index)
{
	for (int i = SHARES; i < SLOTS; i++)
		if (slots[i].live && slots[i].parent == index)
			return true;
	return false;
}

static void add_old(uint64_t id)
{
	old_ids[old_count++ % OLD_IDS] = id;
}

static void kill_slot(int index)
{
	add_old(slots[index].id);
	slots[index] = (struct model){ .parent = -1 };
}

/* What nobody looks at and nothing lies in is gone, and so on upwards. */
static void kill_unused(void)
{
	bool again = true;

	while (again) {
		again = false;
		for (int i = SHARES; i < SLOTS; i++) {
			if (!slots[i].live || slots[i].lookups ||
			    has_children(i))
				continue;
			kill_slot(i);
			again = true;
		}
	}
}

static int free_slot(void)
{
	for (int i = SHARES; i < SLOTS; i++)
		if (!slots[i].live)
			return i;
	return -1;
}

/* Any slot from a byte; NULL when it is empty. */
static struct model *pick(struct input *input, bool with_roots)
{
	unsigned byte = take(input);
	struct model *slot = with_roots
				     ? &slots[byte % SLOTS]
				     : &slots[SHARES + byte % (SLOTS - SHARES)];

	return slot->live ? slot : NULL;
}

static int slot_of(uint64_t ino, unsigned share)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].live && slots[i].ino == ino &&
		    slots[i].share == share)
			return i;
	return -1;
}

static void place(struct model *slot, struct input *input)
{
	struct model *parent = pick(input, true);
	size_t len = 1 + take(input) % NODE_NAME_MAX;
	int self = (int)(slot - slots), above;
	char name[NODE_NAME_MAX + 1];

	memset(name, 'a' + (int)(take(input) % 26), len);
	name[len] = '\0';
	if (!parent || parent->type != S_IFDIR || parent->share != slot->share)
		return;
	if (parent == slot) {
		FUZZ_CHECK(node_table_place(table, slot->node, slot->node,
					    name) < 0);
		return;
	}
	FUZZ_CHECK(node_table_place(table, slot->node, parent->node, name) ==
		   0);
	/* What still lies beneath the node on the way up loses its place. */
	above = (int)(parent - slots);
	while (above >= 0 && slots[above].parent != self)
		above = slots[above].parent;
	if (above >= 0) {
		slots[above].parent = -1;
		slots[above].name[0] = '\0';
	}
	slot->parent = (int)(parent - slots);
	memcpy(slot->name, name, len + 1);
}

/* As a LOOKUP does: find or add, place, count. */
static void lookup(struct input *input)
{
	unsigned share = take(input) % SHARES;
	struct node_key key = key_of(share, 10 + take(input) % 40);
	struct node *node = node_table_find(table, &key);
	int index = slot_of(key.ino, share);

	FUZZ_CHECK((index >= 0) == (node != NULL));
	if (index < 0) {
		index = free_slot();
		if (index < 0)
			return;
		slots[index] = (struct model){ .live = true,
					       .share = (uint8_t)share,
					       .ino = key.ino,
					       .parent = -1 };
		slots[index].type = take(input) % 4 ? S_IFDIR : S_IFREG;
		node = node_table_add(table, &key, slots[index].type);
		FUZZ_CHECK(node);
		slots[index].id = node_table_id(table, node);
	}
	slots[index].node = node;
	slots[index].lookups++;
	node->lookups++;
	place(&slots[index], input);
}

static void reserve(struct input *input)
{
	unsigned share = take(input) % SHARES;

	for (int i = 0; i < RESERVED; i++) {
		if (reserved[i].id)
			continue;
		reserved[i].share = (uint8_t)share;
		reserved[i].id = node_table_reserve(table, share);
		FUZZ_CHECK(reserved[i].id > FUSE_ROOT_ID);
		return;
	}
}

/* Nobody has one that is old, another's, or a node already. */
static void claim_in_vain(struct input *input, const struct node_key *key)
{
	struct model *slot = pick(input, true);
	uint64_t old = old_ids[take(input) % OLD_IDS];

	if (slot)
		FUZZ_CHECK(!node_table_claim(table, slot->id, key, S_IFREG));
	if (old)
		FUZZ_CHECK(!node_table_claim(table, old, key, S_IFREG));
}

static void claim(struct input *input)
{
	struct reserved *from = &reserved[take(input) % RESERVED];
	unsigned share = take(input) % SHARES;
	struct node_key key = key_of(share, 10 + take(input) % 40);
	struct model *slot;
	int index = free_slot();

	if (slot_of(key.ino, share) >= 0 || index < 0)
		return;
	claim_in_vain(input, &key);
	slot = &slots[index];
	slot->node = node_table_claim(table, from->id, &key, S_IFREG);
	FUZZ_CHECK((slot->node != NULL) == (from->id && from->share == share));
	if (!slot->node)
		return;
	*slot = (struct model){ .live = true,
				.share = (uint8_t)share,
				.ino = key.ino,
				.id = from->id,
				.lookups = 1,
				.parent = -1,
				.type = S_IFREG,
				.node = slot->node };
	*from = (struct reserved){ 0 };
	place(slot, input);
}

static void unreserve(struct input *input)
{
	struct reserved *from = &reserved[take(input) % RESERVED];
	unsigned share = take(input) % SHARES;
	struct model *slot = pick(input, true);

	if (slot)
		node_table_unreserve(table, slot->share, slot->id);
	node_table_unreserve(table, share, from->id);
	if (!from->id || from->share != share)
		return;
	add_old(from->id);
	*from = (struct reserved){ 0 };
}

static void rekey(struct model *slot, struct input *input)
{
	struct node_key key = key_of(slot->share, 10 + take(input) % 40);
	bool taken =
		slot < slots + SHARES || slot_of(key.ino, slot->share) >= 0;

	FUZZ_CHECK(node_table_rekey(table, slot->node, &key) ==
		   (taken ? -1 : 0));
	if (!taken)
		slot->ino = key.ino;
}

static void clear(unsigned share)
{
	node_table_clear(table, share);
	for (int i = SHARES; i < SLOTS; i++)
		if (slots[i].live && slots[i].share == share)
			kill_slot(i);
}

static size_t check_blocks(uint8_t *seen, uint32_t first)
{
	const struct region *region = table->region;
	size_t count = 0;

	for (uint32_t i = first; i; i = region->blocks[i].next) {
		FUZZ_CHECK(i < region->block_end && !seen[i]);
		seen[i] = 1;
		count++;
	}
	return count;
}

/* Each node and each block is in use once or free once. */
static void check_region(void)
{
	struct region *region = table->region;
	uint32_t refs[WALK_MAX] = { 0 };
	uint8_t *seen = calloc(region->block_end, 1);
	size_t live = 0, roots = 0, unused = 0, kept = 0, blocks;

	FUZZ_CHECK(seen && region->node_end <= WALK_MAX);
	for (uint32_t i = 1; i < region->node_end; i++) {
		const struct node *node = node_at(table, i);

		kept += node->flags == NODE_RESERVED;
		if (!(node->flags & NODE_LIVE))
			continue;
		FUZZ_CHECK(!(node->flags & NODE_RESERVED));
		live++;
		roots += node_is_root(table, node);
		check_blocks(seen, node->name);
		FUZZ_CHECK(node->parent < region->node_end);
		FUZZ_CHECK(!node->parent == !node->name);
		refs[node->parent]++;
		FUZZ_CHECK(node_table_find(table, &node->key) == node);
	}
	for (uint32_t i = 1; i < region->node_end; i++) {
		const struct node *node = node_at(table, i);

		FUZZ_CHECK(!refs[i] || (node->flags & NODE_LIVE));
		FUZZ_CHECK(!(node->flags & NODE_LIVE) || node->refs == refs[i]);
	}
	for (uint32_t i = region->node_free; i;
	     i = node_at(table, i)->hash_next) {
		FUZZ_CHECK(!(node_at(table, i)->flags &
			     (NODE_LIVE | NODE_RESERVED)));
		FUZZ_CHECK(++unused < WALK_MAX);
	}
	FUZZ_CHECK(live == node_table_count(table));
	FUZZ_CHECK(unused + kept + live - roots ==
		   region->node_end - FIRST_INDEX);
	check_blocks(seen, region->block_free);
	blocks = 1;
	for (uint32_t i = 1; i < region->block_end; i++)
		blocks += seen[i];
	FUZZ_CHECK(blocks == region->block_end);
	free(seen);
}

static void check_path(const struct model *slot)
{
	static char path[NODE_PATH_MAX], other[NODE_PATH_MAX];
	const char *end;
	int found = node_path(table, slot->node, NULL, path, sizeof(path));

	if (slot->parent < 0) {
		FUZZ_CHECK((found == 0) == node_is_root(table, slot->node));
		return;
	}
	FUZZ_CHECK(node_path(table, slots[slot->parent].node, slot->name, other,
			     sizeof(other)) == found);
	if (found < 0)
		return;
	FUZZ_CHECK(!strcmp(path, other));
	end = strrchr(path, '/');
	FUZZ_CHECK(!strcmp(end ? end + 1 : path, slot->name));
}

/* All that are reserved, and no others. */
static void check_reserved(void)
{
	unsigned share = SHARES;
	size_t count = 0, found = 0;
	uint32_t at = 0;
	uint64_t id;

	for (int i = 0; i < RESERVED; i++) {
		if (!reserved[i].id)
			continue;
		count++;
		for (share = 0; share < SHARES; share++) {
			FUZZ_CHECK(!node_table_by_id(table, share,
						     reserved[i].id));
			FUZZ_CHECK(node_table_is_reserved(table, share,
							  reserved[i].id) ==
				   (share == reserved[i].share));
		}
	}
	while ((id = node_table_next_reserved(table, &at, &share))) {
		FUZZ_CHECK(node_table_is_reserved(table, share, id));
		found++;
	}
	FUZZ_CHECK(count == found);
}

static void check_model(void)
{
	char name[NODE_NAME_MAX + 1];
	size_t live = 0;

	for (int i = 0; i < SLOTS; i++) {
		struct model *slot = &slots[i];
		struct node *by_id;

		if (!slot->live)
			continue;
		live++;
		by_id = node_table_by_id(table, slot->share, slot->id);
		FUZZ_CHECK(by_id ==
			   (i < SHARES || slot->lookups ? slot->node : NULL));
		FUZZ_CHECK(i < SHARES ||
			   !node_table_by_id(table, !slot->share, slot->id));
		FUZZ_CHECK(slot->node->lookups == slot->lookups);
		FUZZ_CHECK(slot->node->type == slot->type);
		FUZZ_CHECK(
			node_parent(table, slot->node) ==
			(slot->parent < 0 ? NULL : slots[slot->parent].node));
		node_name(table, slot->node, name);
		FUZZ_CHECK(!strcmp(name, slot->name));
		check_path(slot);
	}
	FUZZ_CHECK(live == node_table_count(table));
	for (size_t i = 0; i < OLD_IDS && i < old_count; i++) {
		for (unsigned share = 0; share < SHARES; share++) {
			FUZZ_CHECK(!node_table_by_id(table, share, old_ids[i]));
			FUZZ_CHECK(!node_table_is_reserved(table, share,
							   old_ids[i]));
		}
	}
	check_reserved();
}

/* Whatever a predecessor left as reserved becomes nodes, or free. */
static void use_reserved(void)
{
	struct node_key key = key_of(0, 1000);
	unsigned share;
	uint32_t at = 0;
	uint64_t id;

	while ((id = node_table_next_reserved(table, &at, &share))) {
		struct node *node;

		FUZZ_CHECK(share < NODE_SHARES_MAX);
		key.share = (uint8_t)share;
		key.ino++;
		node = at % 2 || node_table_find(table, &key)
			       ? NULL
			       : node_table_claim(table, id, &key, S_IFREG);
		node_table_unreserve(table, share, id);
		FUZZ_CHECK(!node || node_table_id(table, node) == id);
	}
}

/* The rest of the input: where and what. Nothing of the model holds then. */
static void break_and_recover(struct input *input)
{
	size_t size = (FIRST_INDEX + SLOTS + RESERVED) * sizeof(struct node);
	size_t live, roots = 0;

	while (input->at < input->end) {
		unsigned where = take(input) << 8;
		uint8_t *part = where & 0x8000
					? (uint8_t *)&table->region->blocks[1]
					: (uint8_t *)&table->region->nodes[1];

		where = (where | take(input)) & 0x7fff;
		part[where % size] = (uint8_t)take(input);
	}
	freed = 0;
	node_table_recover(table);
	check_region();
	use_reserved();
	check_region();
	live = node_table_count(table);
	freed = 0;
	for (unsigned share = 0; share < NODE_SHARES_MAX; share++) {
		node_table_clear(table, share);
		roots += node_table_by_id(table, share, FUSE_ROOT_ID) != NULL;
	}
	FUZZ_CHECK(node_table_count(table) == roots && live - freed == roots);
	check_region();
}

static void step(unsigned kind, struct input *input)
{
	struct model *slot;

	switch (kind) {
	case 0:
	case 1:
		lookup(input);
		break;
	case 2:
		slot = pick(input, false);
		if (!slot)
			break;
		place(slot, input);
		node_table_forget(table, slot->node, 0);
		break;
	case 3:
		slot = pick(input, false);
		if (!slot)
			break;
		node_table_displace(table, slot->node);
		slot->parent = -1;
		slot->name[0] = '\0';
		break;
	case 4:
		slot = pick(input, true);
		if (slot)
			rekey(slot, input);
		break;
	case 5:
		clear(take(input) % SHARES);
		break;
	case 6:
		set_root(take(input) % SHARES, 100 + take(input) % 4);
		break;
	case 10:
		reserve(input);
		break;
	case 11:
	case 12:
		claim(input);
		break;
	case 13:
		unreserve(input);
		break;
	default:
		slot = pick(input, false);
		if (slot) {
			uint64_t count = take(input);

			slot->lookups -=
				count < slot->lookups ? count : slot->lookups;
			node_table_forget(table, slot->node, count);
		}
	}
	kill_unused();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	unsigned recoveries = 0;
	struct error err;

	table = node_table_new(-1, &err);
	FUZZ_CHECK(table);
	node_table_on_free(table, count_freed, NULL);
	memset(slots, 0, sizeof(slots));
	memset(reserved, 0, sizeof(reserved));
	memset(old_ids, 0, sizeof(old_ids));
	old_count = 0;
	for (unsigned share = 0; share < SHARES; share++)
		set_root(share, 100);
	for (int i = 0; i < STEPS_MAX && input.at < input.end; i++) {
		unsigned kind = take(&input) % 16;

		if (kind == 15) {
			check_region();
			break_and_recover(&input);
			node_table_free(table);
			return 0;
		}
		if (kind == 14 && recoveries++ < 2)
			node_table_recover(table);
		else
			step(kind, &input);
		check_model();
	}
	check_region();
	node_table_free(table);
	return 0;
}
