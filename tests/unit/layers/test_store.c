/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store.c - layers of images that sandboxes' engines pulled
 */
#include "layers/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "lib/tap.h"
#include "state/digest.h"

static char folder_name[] = "/tmp/test_store.XXXXXX";
static int folder;

static void name_of(const char *text, const char *registry,
		    char name[STORE_NAME_SIZE])
{
	char hex[DIGEST_HEX];

	digest_bytes(text, strlen(text), hex);
	if (store_name(hex, registry, name) < 0)
		abort();
}

static bool put(struct store *store, const char *name, const char *text)
{
	struct store_entry *entry = store_begin(store, name);

	if (!entry)
		return false;
	if (store_add(entry, text, strlen(text)) < 0) {
		store_drop(entry);
		return false;
	}
	return store_end(entry);
}

static bool has(const struct store *store, const char *name, uint64_t size)
{
	uint64_t found = 0;
	int fd = store_get(store, name, &found);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && found == size;
}

static void names_are_digests_and_their_registry(void)
{
	char one[STORE_NAME_SIZE], two[STORE_NAME_SIZE];
	char hex[STORE_HEX];

	name_of("x", "https://a:443", one);
	name_of("x", "https://b:443", two);
	CHECK(strcmp(one, two) != 0 && strncmp(one, two, 64) == 0);
	CHECK(strspn(one, "0123456789abcdef.") == strlen(one));
	memcpy(hex, one, 64);
	hex[64] = '\0';
	CHECK(store_name(hex, "../..", one) == 0);
	CHECK(!strchr(one, '/'));
	CHECK(store_name("../x", "a", one) < 0);
	CHECK(store_name("", "a", one) < 0);
	hex[3] = 'A';
	CHECK(store_name(hex, "a", one) < 0);
}

static void only_what_is_right_enters(void)
{
	char name[STORE_NAME_SIZE], other[STORE_NAME_SIZE];
	struct store store;

	store_open(&store, folder, 1000);
	name_of("layer", "r", name);
	name_of("layer", "s", other);
	CHECK(!put(&store, name, "other") && !has(&store, name, 5));
	CHECK(!put(&store, name, "laye") && !put(&store, name, ""));
	CHECK(put(&store, name, "layer") && has(&store, name, 5));
	CHECK(!has(&store, other, 5));
	/* twice at once */
	CHECK(put(&store, name, "layer") && has(&store, name, 5));
}

static void what_is_too_large_is_refused(void)
{
	char name[STORE_NAME_SIZE];
	struct store store;

	store_open(&store, folder, 4);
	name_of("large", "r", name);
	CHECK(!put(&store, name, "large") && !has(&store, name, 5));
}

static void use_a_while_ago(const char *name, long seconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = 1000000 - seconds } };

	CHECK(utimensat(folder, name, times, 0) == 0);
}

static void the_longest_unused_goes_first(void)
{
	char a[STORE_NAME_SIZE], b[STORE_NAME_SIZE], c[STORE_NAME_SIZE];
	struct store store;

	store_open(&store, folder, 20);
	name_of("aaaaaaaa", "r", a);
	name_of("bbbbbbbb", "r", b);
	name_of("cccccccc", "r", c);
	CHECK(put(&store, a, "aaaaaaaa") && put(&store, b, "bbbbbbbb"));
	use_a_while_ago(a, 60);
	use_a_while_ago(b, 30);
	CHECK(has(&store, a, 8)); /* used now */
	CHECK(put(&store, c, "cccccccc"));
	CHECK(has(&store, a, 8) && has(&store, c, 8) && !has(&store, b, 8));
}

static void what_a_killed_process_left_is_removed(void)
{
	struct store store, again;
	char name[STORE_NAME_SIZE];
	struct store_entry *entry;
	int fd = openat(folder, "partial.1.1", O_CREAT | O_WRONLY, 0600);

	CHECK(fd >= 0);
	close(fd);
	store_open(&store, folder, 1000);
	CHECK(faccessat(folder, "partial.1.1", F_OK, 0) < 0);
	/* One that somebody fills stays. */
	name_of("later", "r", name);
	entry = store_begin(&store, name);
	REQUIRE(entry != NULL);
	store_open(&again, folder, 1000);
	CHECK(store_add(entry, "later", 5) == 0 && store_end(entry));
	CHECK(has(&store, name, 5));
}

int main(void)
{
	if (!mkdtemp(folder_name))
		return 1;
	folder = open(folder_name, O_RDONLY | O_DIRECTORY);
	RUN(names_are_digests_and_their_registry);
	RUN(only_what_is_right_enters);
	RUN(what_is_too_large_is_refused);
	RUN(the_longest_unused_goes_first);
	RUN(what_a_killed_process_left_is_removed);
	close(folder);
	fileio_remove_tree(AT_FDCWD, folder_name, NULL);
	return DONE();
}
