/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_store.c - parts of images by their digest: cache/blobs/
 */
#include "provision/blob_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/image.h"
#include "state/paths.h"

#define FOLDER "blobs"
#define PARTIAL "partial"
#define PATH_BYTES 192

static const char *const algorithms[] = { "sha256", "sha512" };

static int make_folders(int folder, struct error *err)
{
	static const char *const names[] = { "sha256", "sha512", PARTIAL };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (mkdirat(folder, names[i], 0700) < 0 && errno != EEXIST)
			return error_set(err, errno, FOLDER "/%s", names[i]);
	return 0;
}

int blob_store_open(struct blob_store *store, enum blob_store_use use,
		    struct error *err)
{
	int kind = use == BLOB_STORE_ALONE ? LOCK_EX : LOCK_SH;

	*store = BLOB_STORE_INIT;
	store->folder = paths_open(PATHS_CACHE, FOLDER, err);
	if (store->folder < 0 || make_folders(store->folder, err) < 0)
		return -1;
	store->lock = openat(store->folder, "lock",
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (store->lock < 0)
		return error_set(err, errno, FOLDER "/lock");
	while (flock(store->lock, kind) < 0)
		if (errno != EINTR)
			return error_set(err, errno, FOLDER "/lock");
	return 0;
}

void blob_store_close(struct blob_store *store)
{
	if (store->folder >= 0)
		close(store->folder);
	if (store->lock >= 0)
		close(store->lock);
	*store = BLOB_STORE_INIT;
}

static void path_of(const char *digest, char path[PATH_BYTES])
{
	text_format(path, PATH_BYTES, "%s/%s", digest_name_algorithm(digest),
		    digest_name_hex(digest));
}

int blob_store_get(const struct blob_store *store,
		   const struct image_descriptor *blob, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_BYTES];
	struct stat st;

	path_of(blob->digest, path);
	fd = openat(store->folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, FOLDER "/%s", path);
	/* not of the right size: as good as not there */
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != blob->size)
		return error_set(err, ENOENT, FOLDER "/%s", path);
	return TAKE_FD(fd);
}

/* -1 with EWOULDBLOCK when somebody else fills it. */
static int open_partial(const struct blob_store *store, const char *name,
			struct error *err)
{
	char path[PATH_BYTES];
	AUTO_CLOSE int fd = -1;
	struct stat here, there;

	text_format(path, sizeof(path), PARTIAL "/%s", name);
	fd = openat(store->folder, path,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, errno, FOLDER "/%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, errno, FOLDER "/%s", path);
	/* who held it may have finished and moved it away */
	if (fstat(fd, &here) < 0 ||
	    fstatat(store->folder, path, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    here.st_ino != there.st_ino)
		return error_set(err, EWOULDBLOCK, FOLDER "/%s", path);
	return TAKE_FD(fd);
}

int blob_store_begin(const struct blob_store *store,
		     const struct image_descriptor *blob,
		     struct blob_partial *partial, struct error *err)
{
	struct error own = { 0 };

	*partial = BLOB_PARTIAL_INIT;
	text_copy(partial->digest, sizeof(partial->digest), blob->digest);
	text_copy(partial->name, sizeof(partial->name),
		  digest_name_hex(blob->digest));
	partial->fd = open_partial(store, partial->name, &own);
	if (partial->fd >= 0)
		return 0;
	if (own.code != EWOULDBLOCK) {
		*err = own;
		return -1;
	}
	text_format(partial->name, sizeof(partial->name), "%s.%d",
		    digest_name_hex(blob->digest), (int)getpid());
	partial->fd = open_partial(store, partial->name, err);
	return partial->fd < 0 ? -1 : 0;
}

int blob_store_reopen(const struct blob_store *store,
		      const struct blob_partial *partial, struct error *err)
{
	char path[PATH_BYTES];
	int fd;

	text_format(path, sizeof(path), PARTIAL "/%s", partial->name);
	fd = openat(store->folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, FOLDER "/%s", path);
}

int blob_store_commit(const struct blob_store *store,
		      struct blob_partial *partial, struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	AUTO_CLOSE int fd = TAKE_FD(partial->fd);

	text_format(from, sizeof(from), PARTIAL "/%s", partial->name);
	path_of(partial->digest, to);
	/*
	 * Not synced: after a power cut a damaged one may be here, which costs
	 * fetching it again, while waiting for the disk would cost everybody.
	 */
	if (fchmod(fd, 0444) < 0 ||
	    renameat(store->folder, from, store->folder, to) < 0)
		return error_set(err, errno, FOLDER "/%s", to);
	return 0;
}

void blob_store_leave(const struct blob_store *store,
		      struct blob_partial *partial, enum blob_store_rest rest)
{
	char path[PATH_BYTES];

	if (partial->fd < 0)
		return;
	text_format(path, sizeof(path), PARTIAL "/%s", partial->name);
	/* nobody will look for one that has our number in its name */
	if (rest == BLOB_STORE_DROP || strchr(partial->name, '.'))
		unlinkat(store->folder, path, 0);
	close(partial->fd);
	partial->fd = -1;
}

int blob_store_remove(const struct blob_store *store, const char *digest,
		      struct error *err)
{
	char path[PATH_BYTES];

	path_of(digest, path);
	if (unlinkat(store->folder, path, 0) < 0 && errno != ENOENT)
		return error_set(err, errno, FOLDER "/%s", path);
	return 0;
}

/* ---- all of them ---- */

struct walk {
	const struct blob_store *store;
	const char *algorithm; /* NULL: partial ones */
	blob_store_fn *each;
	void *ctx;
};

static void visit(const struct walk *walk, int folder, const char *name)
{
	char digest[DIGEST_NAME_MAX];
	bool remove = false;
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	if (!walk->algorithm && fileio_is_locked(folder, name))
		return;
	if (walk->algorithm && text_format(digest, sizeof(digest), "%s:%s",
					   walk->algorithm, name) < 0)
		return;
	walk->each(walk->ctx, walk->algorithm ? digest : NULL,
		   (uint64_t)st.st_blocks * 512, &remove);
	if (remove)
		unlinkat(folder, name, 0);
}

static int walk_folder(const struct walk *walk, struct error *err)
{
	const char *name = walk->algorithm ? walk->algorithm : PARTIAL;
	int fd = openat(walk->store->folder, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder)
		return error_set(err, errno, FOLDER "/%s", name);
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			visit(walk, fd, entry->d_name);
	closedir(folder);
	return 0;
}

int blob_store_each(const struct blob_store *store, blob_store_fn *each,
		    void *ctx, struct error *err)
{
	struct walk walk = { store, NULL, each, ctx };

	for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++) {
		walk.algorithm = algorithms[i];
		if (walk_folder(&walk, err) < 0)
			return -1;
	}
	walk.algorithm = NULL;
	return walk_folder(&walk, err);
}
