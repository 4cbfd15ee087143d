/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - layers of images that sandboxes' engines pulled: cache/layers/
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "layers/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/digest.h"

#define PARTIAL "partial."
/* Somebody else needs the disk, too. */
#define LEAVE_BYTES (UINT64_C(1) << 30)
#define REGISTRY_HEX 16

struct store_entry {
	struct store *store; /* borrowed */
	int fd;              /* owned */
	uint64_t size;
	SHA256_CTX hash;
	char name[STORE_NAME_SIZE];
	char partial[sizeof(PARTIAL) + 24];
};

int store_name(const char *hex, const char *registry,
	       char name[STORE_NAME_SIZE])
{
	char origin[DIGEST_HEX];

	if (strlen(hex) != STORE_HEX - 1 ||
	    strspn(hex, "0123456789abcdef") != STORE_HEX - 1)
		return -1;
	digest_bytes(registry, strlen(registry), origin);
	origin[REGISTRY_HEX] = '\0';
	return text_format(name, STORE_NAME_SIZE, "%s.%s", hex, origin);
}

static bool is_partial(const char *name)
{
	return text_starts(name, PARTIAL);
}

typedef void each_fn(struct store *store, const char *name,
		     const struct stat *st, void *ctx);

static void each(struct store *store, each_fn *fn, void *ctx)
{
	int fd = openat(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(folder))) {
		if (fstatat(store->folder, entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			fn(store, entry->d_name, &st, ctx);
	}
	closedir(folder);
}

static void sweep(struct store *store, const char *name, const struct stat *st,
		  void *ctx)
{
	if (is_partial(name) && !fileio_is_locked(store->folder, name))
		(void)!unlinkat(store->folder, name, 0);
}

void store_open(struct store *store, int folder, uint64_t max_bytes)
{
	*store = (struct store){ .folder = folder, .max_bytes = max_bytes };
	each(store, sweep, NULL);
}

int store_get(const struct store *store, const char *name, uint64_t *size)
{
	AUTO_CLOSE int fd =
		openat(store->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	/* The time says when it was used: the oldest goes first. */
	(void)!futimens(fd, NULL);
	*size = (uint64_t)st.st_size;
	return TAKE_FD(fd);
}

static bool has_room(const struct store *store)
{
	struct statvfs disk;

	return fstatvfs(store->folder, &disk) == 0 &&
	       (uint64_t)disk.f_bavail * disk.f_frsize > LEAVE_BYTES;
}

struct store_entry *store_begin(struct store *store, const char *name)
{
	AUTO_FREE struct store_entry *entry = NULL;

	if (!has_room(store))
		return NULL;
	entry = xcalloc(1, sizeof(*entry));
	entry->store = store;
	text_copy(entry->name, sizeof(entry->name), name);
	text_format(entry->partial, sizeof(entry->partial), PARTIAL "%d.%u",
		    (int)getpid(), ++store->last);
	entry->fd = openat(store->folder, entry->partial,
			   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (entry->fd < 0 || SHA256_Init(&entry->hash) != 1)
		return NULL;
	(void)!flock(entry->fd, LOCK_EX | LOCK_NB);
	return TAKE_PTR(entry);
}

int store_add(struct store_entry *entry, const void *bytes, size_t len)
{
	if (entry->size + len > entry->store->max_bytes ||
	    SHA256_Update(&entry->hash, bytes, len) != 1 ||
	    fileio_write_all(entry->fd, bytes, len, NULL) < 0)
		return -1;
	entry->size += len;
	return 0;
}

void store_drop(struct store_entry *entry)
{
	if (!entry)
		return;
	/* Gone already when it got its name. */
	(void)!unlinkat(entry->store->folder, entry->partial, 0);
	close(entry->fd);
	free(entry);
}

struct oldest {
	uint64_t all;
	struct timespec used;
	char name[STORE_NAME_SIZE];
};

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void look(struct store *store, const char *name, const struct stat *st,
		 void *ctx)
{
	struct oldest *oldest = ctx;

	oldest->all += (uint64_t)st->st_size;
	if (is_partial(name) || strlen(name) >= sizeof(oldest->name) ||
	    (oldest->name[0] && !is_before(&st->st_mtim, &oldest->used)))
		return;
	oldest->used = st->st_mtim;
	text_copy(oldest->name, sizeof(oldest->name), name);
}

/* Whoever reads one that goes has it open, and reads on. */
static void make_room(struct store *store)
{
	struct oldest oldest;

	do {
		oldest = (struct oldest){ .all = 0 };
		each(store, look, &oldest);
	} while (oldest.all > store->max_bytes && oldest.name[0] &&
		 unlinkat(store->folder, oldest.name, 0) == 0);
}

static bool is_right(struct store_entry *entry)
{
	unsigned char sum[SHA256_DIGEST_LENGTH];
	char hex[DIGEST_HEX];

	if (SHA256_Final(sum, &entry->hash) != 1)
		return false;
	text_hex(sum, sizeof(sum), hex);
	return strncmp(hex, entry->name, DIGEST_HEX - 1) == 0;
}

bool store_end(struct store_entry *entry)
{
	struct store *store = entry->store;
	bool entered = false;

	/* Synced: a power cut must not leave others with half of one. */
	if (is_right(entry) && fdatasync(entry->fd) == 0)
		entered = renameat(store->folder, entry->partial, store->folder,
				   entry->name) == 0;
	else
		log_debug("not kept: %s", entry->name);
	store_drop(entry);
	if (entered)
		make_room(store);
	return entered;
}
