/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_copy.c - the two ends of a copy: where it comes from and where it goes
 */
#include "tree/tree_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tree/tree_open.h"
#include "tree/tree_walk.h"
#include "tree/tree_write.h"

struct tree_unpack {
	struct tree_unpack_setup setup;
	struct tar_reader *reader;  /* owned */
	struct tree_writer *writer; /* owned; NULL before the first entry */
	int root;                   /* owned; the folder that is written to */
	/* names in the archive begin with `from`, which becomes `to` */
	char from[TAR_NAME_MAX + 1], to[TAR_NAME_MAX + 1];
};

/* Links are followed: it is the user who names this path. */
static int open_place(const struct tree_place *place, const char *path,
		      int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = place->beneath
				   ? RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
				   : 0,
	};

	return (int)syscall(SYS_openat2, place->base, *path ? path : ".", &how,
			    sizeof(how));
}

/* Opens the folder part of path; the last part goes to name. */
static int open_above(const struct tree_place *place, char *name, size_t size,
		      struct error *err)
{
	size_t end = strlen(place->path), begin;
	char folder[TAR_PATH_MAX];
	int fd;

	while (end && place->path[end - 1] == '/')
		end--;
	for (begin = end; begin && place->path[begin - 1] != '/';)
		begin--;
	if (text_format(name, size, "%.*s", (int)(end - begin),
			place->path + begin) < 0 ||
	    text_format(folder, sizeof(folder), "%.*s", (int)begin,
			place->path) < 0)
		return tree_error(err, ENAMETOOLONG, place->path);
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return tree_error(err, ENOENT, place->path);
	fd = open_place(place, folder, O_PATH | O_DIRECTORY);
	return fd < 0 ? tree_error(err, errno, place->path) : fd;
}

/* Nothing is there, or a file: the copy gets the name of the destination. */
static int place_anew(struct tree_unpack *unpack, bool is_folder, int why,
		      struct error *err)
{
	const struct tree_place *place = &unpack->setup.place;
	struct stat st;
	bool there;

	unpack->root = open_above(place, unpack->to, sizeof(unpack->to), err);
	if (unpack->root < 0)
		return -1;
	there = fstatat(unpack->root, unpack->to, &st, AT_SYMLINK_NOFOLLOW) ==
		0;
	if (unpack->setup.as_it_is || (there && is_folder))
		return tree_error(err, there ? ENOTDIR : ENOENT, place->path);
	if (!is_folder && text_ends(place->path, "/"))
		return tree_error(err, why, place->path);
	return 0;
}

static int choose_place(struct tree_unpack *unpack,
			const struct tar_entry *first, struct error *err)
{
	const struct tree_place *place = &unpack->setup.place;

	unpack->root = open_place(place, place->path, O_PATH | O_DIRECTORY);
	if (unpack->root < 0 && errno != ENOENT && errno != ENOTDIR)
		return tree_error(err, errno, place->path);
	if (unpack->root < 0)
		return place_anew(unpack, S_ISDIR(first->mode), errno, err);
	memcpy(unpack->to, unpack->from, sizeof(unpack->to));
	return 0;
}

static int begin(struct tree_unpack *unpack, const struct tar_entry *first,
		 struct error *err)
{
	struct tree_writer_setup writer = { .uid = unpack->setup.owner };
	struct stat st;

	if (!unpack->setup.as_it_is &&
	    (strchr(first->path, '/') ||
	     text_copy(unpack->from, sizeof(unpack->from), first->path) < 0))
		return error_set(err, 0, "the archive begins with a path");
	if (choose_place(unpack, first, err) < 0)
		return -1;
	if (fstat(unpack->root, &st) < 0)
		return tree_error(err, errno, unpack->setup.place.path);
	writer.root = unpack->root;
	writer.gid = (gid_t)writer.uid;
	if (writer.uid != TREE_OWNER_SAME && !(st.st_mode & S_IWOTH)) {
		writer.uid = st.st_uid;
		writer.gid = st.st_gid;
	}
	unpack->writer = tree_writer_new(&writer);
	return 0;
}

/* The name that an entry gets. */
static int rename_path(const struct tree_unpack *unpack, const char *path,
		       char out[TAR_PATH_MAX], struct error *err)
{
	size_t len = strlen(unpack->from);
	const char *rest = path + len;

	if (strncmp(path, unpack->from, len) != 0 ||
	    (len && *rest && *rest != '/'))
		return tree_error(err, EXDEV, path);
	if (len && *rest)
		rest++;
	if (text_format(out, TAR_PATH_MAX, "%s%s%s", unpack->to,
			*unpack->to && *rest ? "/" : "", rest) < 0)
		return tree_error(err, ENAMETOOLONG, path);
	return 0;
}

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct tree_unpack *unpack = ctx;
	struct tar_entry renamed = *entry;
	char path[TAR_PATH_MAX], target[TAR_PATH_MAX];

	if (!unpack->writer && begin(unpack, entry, err) < 0)
		return -1;
	if (rename_path(unpack, entry->path, path, err) < 0)
		return -1;
	renamed.path = path;
	if (entry->hard_link) {
		if (rename_path(unpack, entry->target, target, err) < 0)
			return -1;
		renamed.target = target;
	}
	return tree_writer_entry(unpack->writer, &renamed, err);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	return tree_writer_data(((struct tree_unpack *)ctx)->writer, bytes, len,
				err);
}

static int on_end(void *ctx, struct error *err)
{
	return tree_writer_end(((struct tree_unpack *)ctx)->writer, err);
}

struct tree_unpack *tree_unpack_new(const struct tree_unpack_setup *setup)
{
	struct tree_unpack *unpack = xcalloc(1, sizeof(*unpack));
	struct tar_events events = { on_entry, on_data, on_end, unpack };

	unpack->setup = *setup;
	unpack->root = -1;
	unpack->reader = tar_reader_new(&setup->limits, &events);
	return unpack;
}

void tree_unpack_free(struct tree_unpack *unpack)
{
	if (!unpack)
		return;
	tree_writer_free(unpack->writer);
	tar_reader_free(unpack->reader);
	if (unpack->root >= 0)
		close(unpack->root);
	free(unpack);
}

int tree_unpack_feed(struct tree_unpack *unpack, const void *bytes, size_t len,
		     struct error *err)
{
	return tar_reader_feed(unpack->reader, bytes, len, err);
}

int tree_unpack_finish(struct tree_unpack *unpack, struct error *err)
{
	if (tar_reader_finish(unpack->reader, err) < 0)
		return -1;
	return unpack->writer ? tree_writer_finish(unpack->writer, err) : 0;
}

/* "dir/." and "/": the content. "dir/": the folder, through a link. */
int tree_pack(const struct tree_place *place,
	      const struct tree_walk_setup *setup, struct error *err)
{
	const char *path = place->path;
	bool content = !strcmp(path, ".") || text_ends(path, "/.") ||
		       strspn(path, "/") == strlen(path);
	char name[TAR_NAME_MAX + 1] = "";
	AUTO_CLOSE int at = -1;
	struct stat st;

	if (!content) {
		at = open_above(place, name, sizeof(name), err);
		if (at < 0)
			return -1;
	}
	if (content || text_ends(path, "/")) {
		int fd = open_place(place, path, O_PATH | O_DIRECTORY);

		if (fd < 0)
			return tree_error(err, errno, path);
		if (at >= 0)
			close(at);
		at = fd;
		return tree_walk(at, ".", name, setup, err);
	}
	/* The walk would name it by its last part alone. */
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return tree_error(err, errno, path);
	return tree_walk(at, name, name, setup, err);
}
