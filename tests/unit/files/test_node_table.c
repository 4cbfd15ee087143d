/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_node_table.c - ids that prove nothing, places, and what a crash leaves
 */
#include "files/node_table_internal.h"

#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/tap.h"

static struct node_table *table;
static struct node *root;

static struct node_key key_of(uint64_t ino)
{
	return (struct node_key){ .dev = 1, .ino = ino, .btime_ns = 5 };
}

static void open_table(int fd)
{
	struct node_key key = key_of(1);
	struct error err;

	table = node_table_new(fd, &err);
	root = node_table_set_root(table, &key, S_IFDIR);
}

static struct node *add(uint64_t ino, struct node *parent, const char *name)
{
	struct node_key key = key_of(ino);
	struct node *node = node_table_add(table, &key, S_IFDIR);

	node_table_place(table, node, parent, name);
	node->lookups++;
	return node;
}

static void the_root_has_the_id_that_fuse_says(void)
{
	open_table(-1);
	CHECK(node_table_id(table, root) == FUSE_ROOT_ID);
	CHECK(node_table_by_id(table, 0, FUSE_ROOT_ID) == root);
	CHECK(!node_table_by_id(table, 1, FUSE_ROOT_ID));
	CHECK(!node_table_by_id(table, 64, FUSE_ROOT_ID));
	node_table_free(table);
}

static void only_ids_that_were_given_find_something(void)
{
	struct node *node;
	uint64_t id;

	open_table(-1);
	node = add(2, root, "name");
	id = node_table_id(table, node);
	CHECK(node_table_by_id(table, 0, id) == node);
	CHECK(!node_table_by_id(table, 1, id));
	CHECK(!node_table_by_id(table, 0, id + 1));
	CHECK(!node_table_by_id(table, 0, id + (1ULL << 32)));
	CHECK(!node_table_by_id(table, 0, id & UINT32_MAX));
	CHECK(!node_table_by_id(table, 0, 0));
	CHECK(!node_table_by_id(table, 0, 2));
	CHECK(!node_table_by_id(table, 0, UINT64_MAX));
	node_table_forget(table, node, 1);
	CHECK(!node_table_by_id(table, 0, id));
	node = add(3, root, "other");
	CHECK((uint32_t)node_table_id(table, node) == (uint32_t)id);
	CHECK(!node_table_by_id(table, 0, id));
	node_table_free(table);
}

static void a_parent_lives_as_long_as_its_children(void)
{
	struct node *folder, *child;
	struct node_key key = key_of(2);

	open_table(-1);
	folder = add(2, root, "folder");
	child = add(3, folder, "child");
	node_table_forget(table, folder, 100);
	CHECK(node_table_find(table, &key) == folder);
	CHECK(!node_table_by_id(table, 0, node_table_id(table, folder)));
	CHECK(node_table_count(table) == 3);
	node_table_forget(table, child, 1);
	CHECK(!node_table_find(table, &key));
	CHECK(node_table_count(table) == 1);
	node_table_free(table);
}

static void paths_follow_moves(void)
{
	char path[300], small[8];
	struct node *a, *b, *c;

	open_table(-1);
	a = add(2, root, "a");
	b = add(3, a, "b");
	c = add(4, b, "c");
	CHECK(node_path(table, c, "file", path, sizeof(path)) == 0);
	CHECK(strcmp(path, "a/b/c/file") == 0);
	CHECK(node_path(table, c, "file", small, sizeof(small)) < 0);
	CHECK(node_path(table, root, "x", path, sizeof(path)) == 0 &&
	      strcmp(path, "x") == 0);
	CHECK(node_path(table, root, NULL, path, sizeof(path)) == 0 &&
	      strcmp(path, "") == 0);
	node_table_place(table, b, root, "moved");
	CHECK(node_path(table, c, NULL, path, sizeof(path)) == 0 &&
	      strcmp(path, "moved/c") == 0);
	node_table_displace(table, b);
	CHECK(node_path(table, c, NULL, path, sizeof(path)) < 0);
	node_table_free(table);
}

static void folders_in_each_other_are_no_circle(void)
{
	char path[300];
	struct node *a, *b, *c;

	open_table(-1);
	a = add(2, root, "a");
	b = add(3, a, "b");
	c = add(4, b, "c");
	/* The host moved c up and a into it; we see a in c first. */
	node_table_place(table, a, c, "a");
	CHECK(node_path(table, a, NULL, path, sizeof(path)) < 0);
	node_table_place(table, c, root, "c");
	CHECK(node_path(table, a, NULL, path, sizeof(path)) == 0 &&
	      strcmp(path, "c/a") == 0);
	node_table_forget(table, a, 1);
	node_table_forget(table, b, 1);
	node_table_forget(table, c, 1);
	CHECK(node_table_count(table) == 1);
	node_table_free(table);
}

static void what_is_freed_gets_no_place(void)
{
	struct node *a, *b;

	open_table(-1);
	a = add(2, root, "a");
	b = add(3, a, "b");
	node_table_forget(table, a, 1);
	/* Two are exchanged: with the first place nothing keeps a. */
	CHECK(node_table_place(table, b, root, "a") == 0);
	CHECK(node_table_count(table) == 2);
	CHECK(node_table_place(table, a, root, "b") < 0);
	CHECK(root->refs == 1);
	node_table_free(table);
}

static void names_of_any_length(void)
{
	char name[NODE_NAME_MAX + 1], back[NODE_NAME_MAX + 1];
	struct node *node;

	open_table(-1);
	node = add(2, root, "x");
	for (size_t len = 1; len <= NODE_NAME_MAX; len++) {
		memset(name, (int)(1 + len % 255), len);
		name[len] = '\0';
		CHECK(node_table_place(table, node, root, name) == 0);
		CHECK(node_name(table, node, back) == len);
		CHECK(strcmp(name, back) == 0);
	}
	CHECK(table->region->block_end < 30);
	node_table_free(table);
}

static void a_full_table_says_so(void)
{
	struct node_key key = key_of(0);
	struct node *last = NULL;

	open_table(-1);
	table->region->node_end = NODE_NODES_MAX - 1;
	key.ino = 100;
	last = node_table_add(table, &key, S_IFREG);
	CHECK(last);
	key.ino = 101;
	CHECK(!node_table_add(table, &key, S_IFREG));
	table->region->block_end = NAME_BLOCKS;
	CHECK(node_table_place(table, last, root, "name") < 0);
	node_table_forget(table, last, 0);
	CHECK(node_table_add(table, &key, S_IFREG));
	node_table_free(table);
}

static void what_is_reserved_finds_nothing_until_it_is_claimed(void)
{
	struct node_key key = key_of(2);
	size_t count;
	struct node *node;
	uint64_t id;

	open_table(-1);
	count = node_table_count(table);
	id = node_table_reserve(table, 0);
	REQUIRE(id > FUSE_ROOT_ID);
	CHECK(!node_table_by_id(table, 0, id));
	CHECK(node_table_is_reserved(table, 0, id));
	CHECK(node_table_count(table) == count);
	CHECK(node_table_reserve(table, 0) != id);
	node = node_table_claim(table, id, &key, S_IFREG);
	REQUIRE(node);
	CHECK(node_table_id(table, node) == id && node->type == S_IFREG);
	CHECK(node_table_find(table, &key) == node);
	CHECK(node_table_count(table) == count + 1);
	CHECK(!node_table_is_reserved(table, 0, id));
	CHECK(node_table_place(table, node, root, "name") == 0);
	/* The kernel has it already. */
	CHECK(node_table_by_id(table, 0, id) == node);
	node_table_forget(table, node, 1);
	CHECK(!node_table_by_id(table, 0, id));
	CHECK(node_table_count(table) == count);
	node_table_free(table);
}

static void only_what_is_reserved_can_be_claimed(void)
{
	struct node_key key = key_of(2), other = key_of(3), far = key_of(4);
	uint64_t id, live;

	far.share = 1;
	open_table(-1);
	id = node_table_reserve(table, 0);
	live = node_table_id(table, add(5, root, "live"));
	CHECK(!node_table_claim(table, id, &far, S_IFREG));
	CHECK(!node_table_claim(table, id + (1ULL << 32), &key, S_IFREG));
	CHECK(!node_table_claim(table, id & UINT32_MAX, &key, S_IFREG));
	CHECK(!node_table_claim(table, id + 100, &key, S_IFREG));
	CHECK(!node_table_claim(table, live, &key, S_IFREG));
	CHECK(!node_table_claim(table, FUSE_ROOT_ID, &key, S_IFREG));
	CHECK(!node_table_claim(table, 0, &key, S_IFREG));
	CHECK(!node_table_claim(table, UINT64_MAX, &key, S_IFREG));
	CHECK(!node_table_is_reserved(table, 1, id));
	CHECK(!node_table_is_reserved(table, 0, live));
	CHECK(!node_table_is_reserved(table, 0, FUSE_ROOT_ID));
	node_table_unreserve(table, 1, id);
	node_table_unreserve(table, 0, live);
	CHECK(node_table_by_id(table, 0, live));
	CHECK(node_table_claim(table, id, &key, S_IFREG));
	CHECK(!node_table_claim(table, id, &other, S_IFREG));
	node_table_free(table);
}

static void what_is_never_claimed_is_never_given_again(void)
{
	struct node_key key = key_of(2);
	uint64_t id, again;

	open_table(-1);
	id = node_table_reserve(table, 0);
	node_table_unreserve(table, 0, id);
	CHECK(!node_table_is_reserved(table, 0, id));
	CHECK(!node_table_claim(table, id, &key, S_IFREG));
	node_table_unreserve(table, 0, id);
	again = node_table_reserve(table, 0);
	CHECK((uint32_t)again == (uint32_t)id && again != id);
	CHECK(!node_table_claim(table, id, &key, S_IFREG));
	node_table_unreserve(table, 0, id);
	CHECK(node_table_is_reserved(table, 0, again));
	CHECK(!node_table_by_id(table, 0, id));
	/* Another is not given the same place meanwhile. */
	CHECK((uint32_t)node_table_reserve(table, 0) != (uint32_t)again);
	node_table_free(table);
}

static void a_full_table_reserves_nothing(void)
{
	uint64_t last;

	open_table(-1);
	table->region->node_end = NODE_NODES_MAX - 1;
	last = node_table_reserve(table, 0);
	CHECK(last && !node_table_reserve(table, 0));
	node_table_unreserve(table, 0, last);
	CHECK(node_table_reserve(table, 0));
	node_table_free(table);
}

static int memory(void)
{
	return memfd_create("nodes", MFD_CLOEXEC);
}

static void a_successor_finds_the_same_nodes(void)
{
	int fd = memory();
	uint64_t a_id, b_id;
	char path[100];
	struct node *a, *b;

	open_table(fd);
	a = add(2, root, "a");
	b = add(3, a, "a-name-that-is-longer-than-one-block");
	a->fd = 77;
	a_id = node_table_id(table, a);
	b_id = node_table_id(table, b);
	node_table_forget(table, a, 1);
	node_table_usage(table, 0)->bytes = 99;
	node_table_free(table);
	open_table(fd);
	b = node_table_by_id(table, 0, b_id);
	REQUIRE(b);
	CHECK(b->fd == -1 && !node_table_by_id(table, 0, a_id));
	CHECK(node_path(table, b, NULL, path, sizeof(path)) == 0);
	CHECK(strcmp(path, "a/a-name-that-is-longer-than-one-block") == 0);
	CHECK(node_table_usage(table, 0)->bytes == 99);
	node_table_forget(table, b, 1);
	CHECK(node_table_count(table) == 1);
	node_table_free(table);
	close(fd);
}

static void a_successor_finds_what_was_reserved(void)
{
	struct node_key key = key_of(2);
	uint64_t first, claimed, left, far, found[4] = { 0 };
	unsigned share = 9, shares[4] = { 9, 9, 9, 9 };
	struct node *node;
	int fd = memory();
	uint32_t at = 0;

	open_table(fd);
	CHECK(node_table_next_reserved(table, &at, &share) == 0);
	first = node_table_reserve(table, 0);
	claimed = node_table_reserve(table, 0);
	left = node_table_reserve(table, 0);
	far = node_table_reserve(table, 3);
	node = node_table_claim(table, claimed, &key, S_IFREG);
	node->lookups++;
	node_table_unreserve(table, 0, left);
	node_table_free(table);
	open_table(fd);
	at = 0;
	for (int i = 0; i < 4; i++)
		found[i] = node_table_next_reserved(table, &at, &shares[i]);
	CHECK(found[0] == first && shares[0] == 0);
	CHECK(found[1] == far && shares[1] == 3);
	CHECK(!found[2] && !found[3] && shares[2] == 9);
	CHECK(node_table_by_id(table, 0, claimed));
	CHECK(!node_table_by_id(table, 0, first));
	CHECK(!node_table_is_reserved(table, 0, left));
	key = key_of(3);
	CHECK(!node_table_claim(table, far, &key, S_IFREG));
	node = node_table_claim(table, first, &key, S_IFREG);
	CHECK(node && node_table_id(table, node) == first);
	/* What is free is given to others, and the rest to nobody. */
	CHECK((uint32_t)node_table_reserve(table, 0) == (uint32_t)left);
	CHECK((uint32_t)node_table_reserve(table, 0) > (uint32_t)far);
	node_table_free(table);
	close(fd);
}

static void a_mount_that_ends_takes_no_reserved_ones_along(void)
{
	uint64_t id;

	open_table(-1);
	id = node_table_reserve(table, 0);
	add(2, root, "name");
	node_table_clear(table, 0);
	CHECK(node_table_is_reserved(table, 0, id));
	node_table_free(table);
}

/* Bytes of nodes and names at random: whatever is found can be used. */
static void a_successor_survives_any_bytes(void)
{
	char path[4096], name[NODE_NAME_MAX + 1];
	int fd = memory();

	srandom(1);
	for (int round = 0; round < 60; round++) {
		open_table(fd);
		for (uint64_t i = 0; i < 40; i++) {
			struct node_key key = key_of(1000 + i);
			struct node *node = node_table_find(table, &key);

			if (!node)
				add(1000 + i, root, "some-name-of-a-file");
		}
		for (int i = 0; i < 60; i++) {
			uint8_t *part =
				random() % 2
					? (uint8_t *)&table->region->nodes[1]
					: (uint8_t *)&table->region->blocks[1];

			part[random() % 8000] = (uint8_t)random();
		}
		if (round % 5 == 0)
			table->region->block_end = (uint32_t)random();
		if (round % 7 == 0)
			table->region->node_free = (uint32_t)random();
		node_table_free(table);
		open_table(fd);
		for (uint32_t i = 1; i < 200; i++) {
			struct node *node = node_at(table, i);

			if (!(node->flags & NODE_LIVE))
				continue;
			node_name(table, node, name);
			node_path(table, node, "x", path, sizeof(path));
			if (random() % 4 == 0)
				node_table_forget(table, node, UINT64_MAX);
		}
		node_table_clear(table, 0);
		node_table_free(table);
	}
	CHECK(1);
	close(fd);
}

static void two_hundred_thousand_nodes_are_small(void)
{
	char name[32];

	open_table(-1);
	for (uint64_t i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "file-name-%llu.c",
			 (unsigned long long)i);
		add(10 + i, root, name);
	}
	CHECK(200000 * (sizeof(struct node) + sizeof(struct name_block)) +
		      sizeof(table->region->buckets) <
	      40u << 20);
	CHECK(node_table_count(table) == 200001);
	node_table_clear(table, 0);
	CHECK(node_table_count(table) == 1);
	node_table_free(table);
}

int main(void)
{
	RUN(the_root_has_the_id_that_fuse_says);
	RUN(only_ids_that_were_given_find_something);
	RUN(a_parent_lives_as_long_as_its_children);
	RUN(paths_follow_moves);
	RUN(folders_in_each_other_are_no_circle);
	RUN(what_is_freed_gets_no_place);
	RUN(names_of_any_length);
	RUN(a_full_table_says_so);
	RUN(what_is_reserved_finds_nothing_until_it_is_claimed);
	RUN(only_what_is_reserved_can_be_claimed);
	RUN(what_is_never_claimed_is_never_given_again);
	RUN(a_full_table_reserves_nothing);
	RUN(a_successor_finds_the_same_nodes);
	RUN(a_successor_finds_what_was_reserved);
	RUN(a_mount_that_ends_takes_no_reserved_ones_along);
	RUN(a_successor_survives_any_bytes);
	RUN(two_hundred_thousand_nodes_are_small);
	return DONE();
}
