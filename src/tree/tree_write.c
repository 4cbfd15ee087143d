/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_write.c - entries of an archive, written beneath a folder
 *
 * Folders get their mode and time at the end: a read-only one must take its
 * entries first, and each entry changes its folder's time. Content that is
 * zero becomes a hole, so that a sparse file stays one.
 */
#include "tree/tree_write.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tree/tree_open.h"

#define PIECE 4096
#define NAME_TRIES 100
#define TEMPORARY_MAX 32

/* A file that a hard link may name. */
struct made {
	char *path; /* owned */
	dev_t dev;
	ino_t ino;
};

struct folder {
	char *path; /* owned */
	mode_t mode;
	struct timespec mtime;
};

struct tree_writer {
	struct tree_writer_setup setup;
	void *made;             /* owned: tsearch() of struct made */
	struct folder *folders; /* owned */
	size_t folder_count, folder_room;
	char *parent_path; /* owned: of parent; NULL while there is none */
	int parent;        /* owned: the folder of the last entry */
	size_t unkept;
	/* the file that is being written */
	int file;                      /* owned; -1: none */
	char temporary[TEMPORARY_MAX]; /* "" when it has no name yet */
	char *path;                    /* owned */
	off_t offset;
	mode_t mode;
	struct timespec mtime;
};

struct tree_writer *tree_writer_new(const struct tree_writer_setup *setup)
{
	struct tree_writer *writer = xcalloc(1, sizeof(*writer));

	writer->setup = *setup;
	writer->parent = writer->file = -1;
	return writer;
}

void tree_writer_abandon(struct tree_writer *writer)
{
	if (writer->file < 0)
		return;
	close(TAKE_FD(writer->file));
	if (writer->temporary[0])
		unlinkat(writer->parent, writer->temporary, 0);
	writer->temporary[0] = '\0';
	free(TAKE_PTR(writer->path));
}

static void free_made(void *p)
{
	struct made *made = p;

	free(made->path);
	free(made);
}

void tree_writer_free(struct tree_writer *writer)
{
	if (!writer)
		return;
	tree_writer_abandon(writer);
	tdestroy(writer->made, free_made);
	for (size_t i = 0; i < writer->folder_count; i++)
		free(writer->folders[i].path);
	free(writer->folders);
	free(writer->parent_path);
	if (writer->parent >= 0)
		close(writer->parent);
	free(writer);
}

static int compare_made(const void *a, const void *b)
{
	return strcmp(((const struct made *)a)->path,
		      ((const struct made *)b)->path);
}

void tree_writer_adopt(struct tree_writer *writer, const char *path,
		       const struct stat *st)
{
	struct made *made = xcalloc(1, sizeof(*made));
	struct made **found;

	made->path = xstrdup(path);
	found = tsearch(made, &writer->made, compare_made);
	if (!found)
		abort();
	(*found)->dev = st->st_dev;
	(*found)->ino = st->st_ino;
	if (*found != made)
		free_made(made);
}

/* The folder of path; the last one is kept, since entries come in clusters. */
static int enter(struct tree_writer *writer, const char *path,
		 const char **name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	int fd;

	*name = slash ? slash + 1 : path;
	if (writer->parent_path && strlen(writer->parent_path) == len &&
	    !memcmp(writer->parent_path, path, len))
		return 0;
	fd = tree_open_parent(writer->setup.root, path, TREE_MAKE_PARENTS, name,
			      err);
	if (fd < 0)
		return -1;
	if (writer->parent >= 0)
		close(writer->parent);
	writer->parent = fd;
	free(writer->parent_path);
	writer->parent_path = xstrndup(path, len);
	return 0;
}

/* Of the file itself when name is "". */
static int set_owner(const struct tree_writer *writer, int at, const char *name)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
	struct stat st;

	if (writer->setup.uid == TREE_OWNER_SAME)
		return 0;
	/* a shared folder has one owner, who cannot be changed */
	if (fstatat(at, name, &st, flags) == 0 &&
	    st.st_uid == writer->setup.uid && st.st_gid == writer->setup.gid)
		return 0;
	return fchownat(at, name, writer->setup.uid, writer->setup.gid, flags);
}

static void temporary_name(char name[TEMPORARY_MAX])
{
	unsigned char noise[8];
	char hex[2 * sizeof(noise) + 1];

	if (getrandom(noise, sizeof(noise), 0) != (ssize_t)sizeof(noise))
		abort();
	text_hex(noise, sizeof(noise), hex);
	(void)text_format(name, TEMPORARY_MAX, ".bawn-%s", hex);
}

static int open_file(struct tree_writer *writer)
{
	int fd = openat(writer->parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
			0600);

	writer->temporary[0] = '\0';
	for (int i = 0; fd < 0 && i < NAME_TRIES; i++) {
		temporary_name(writer->temporary);
		fd = openat(writer->parent, writer->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		writer->temporary[0] = '\0';
	return fd;
}

static int set_xattrs(struct tree_writer *writer, int fd,
		      const struct tar_entry *entry)
{
	for (size_t i = 0; i < entry->xattr_count; i++) {
		const struct tar_xattr *one = &entry->xattrs[i];

		if (fsetxattr(fd, one->name, one->value, one->len, 0) == 0)
			continue;
		if (errno == EOPNOTSUPP) {
			writer->unkept++;
			return 0;
		}
		if (writer->setup.exact)
			return -1;
	}
	return 0;
}

size_t tree_writer_unkept(const struct tree_writer *writer)
{
	return writer->unkept;
}

static int begin_file(struct tree_writer *writer, const struct tar_entry *entry,
		      struct error *err)
{
	const char *name;
	struct stat st;

	if (enter(writer, entry->path, &name, err) < 0)
		return -1;
	if (fstatat(writer->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		return tree_error(err, EISDIR, entry->path);
	writer->file = open_file(writer);
	if (writer->file < 0)
		return tree_error(err, errno, entry->path);
	writer->path = xstrdup(entry->path);
	writer->offset = 0;
	writer->mode = entry->mode & 0777;
	writer->mtime = (struct timespec){ entry->mtime, entry->mtime_ns };
	return set_xattrs(writer, writer->file, entry) < 0
		       ? tree_error(err, errno, entry->path)
		       : 0;
}

static int put_run(struct tree_writer *writer, const uint8_t *from, size_t len,
		   struct error *err)
{
	if (len &&
	    fileio_pwrite_all(writer->file, from, len, writer->offset, err) < 0)
		return tree_error(err, err ? err->code : EIO, writer->path);
	writer->offset += (off_t)len;
	return 0;
}

int tree_writer_data(struct tree_writer *writer, const void *bytes, size_t len,
		     struct error *err)
{
	const uint8_t *at = bytes, *run = bytes;

	if (writer->file < 0)
		return error_set(err, 0, "content without a file");
	while (len) {
		size_t piece = len < PIECE ? len : PIECE;

		if (mem_is_zero(at, piece)) {
			if (put_run(writer, run, (size_t)(at - run), err) < 0)
				return -1;
			writer->offset += (off_t)piece;
			run = at + piece;
		}
		at += piece;
		len -= piece;
	}
	return put_run(writer, run, (size_t)(at - run), err);
}

/* A link to the file under a name that nobody has. */
static int name_file(struct tree_writer *writer)
{
	char magic[TREE_MAGIC_MAX];
	int rc = -1;

	tree_magic(writer->file, magic);
	for (int i = 0; rc < 0 && i < NAME_TRIES; i++) {
		temporary_name(writer->temporary);
		rc = linkat(AT_FDCWD, magic, writer->parent, writer->temporary,
			    AT_SYMLINK_FOLLOW);
		if (rc < 0 && errno != EEXIST)
			break;
	}
	if (rc < 0)
		writer->temporary[0] = '\0';
	return rc;
}

static int put_in_place(struct tree_writer *writer, const char *name)
{
	char magic[TREE_MAGIC_MAX];

	if (!writer->temporary[0]) {
		tree_magic(writer->file, magic);
		if (linkat(AT_FDCWD, magic, writer->parent, name,
			   AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST || name_file(writer) < 0)
			return -1;
	}
	if (renameat(writer->parent, writer->temporary, writer->parent, name) <
	    0)
		return -1;
	writer->temporary[0] = '\0';
	return 0;
}

int tree_writer_end(struct tree_writer *writer, struct error *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, writer->mtime };
	const char *name;
	struct stat st;

	if (writer->file < 0)
		return 0;
	if (enter(writer, writer->path, &name, err) < 0)
		return -1;
	/* the owner first: a change of owner takes mode bits away */
	if (ftruncate(writer->file, writer->offset) < 0 ||
	    set_owner(writer, writer->file, "") < 0 ||
	    fchmod(writer->file, writer->mode) < 0 ||
	    futimens(writer->file, times) < 0 ||
	    put_in_place(writer, name) < 0 || fstat(writer->file, &st) < 0)
		return tree_error(err, errno, writer->path);
	tree_writer_adopt(writer, writer->path, &st);
	tree_writer_abandon(writer);
	return 0;
}

static int make_folder(struct tree_writer *writer,
		       const struct tar_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	const char *name;
	bool made;

	if (!entry->path[0])
		return 0; /* the root is the caller's */
	if (enter(writer, entry->path, &name, err) < 0)
		return -1;
	made = mkdirat(writer->parent, name, 0700) == 0;
	if (!made && errno != EEXIST)
		return tree_error(err, errno, entry->path);
	fd = tree_open(writer->parent, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return tree_error(err, errno, entry->path);
	/* at once, if it may: whoever is killed leaves it as it is to be */
	if (set_xattrs(writer, fd, entry) < 0 ||
	    (made && (set_owner(writer, fd, "") < 0 ||
		      ((entry->mode & 0300) == 0300 &&
		       fchmod(fd, entry->mode & 01777) < 0)))) {
		tree_error(err, errno, entry->path);
		if (made)
			(void)unlinkat(writer->parent, name, AT_REMOVEDIR);
		return -1;
	}
	if (writer->folder_count == writer->folder_room) {
		writer->folder_room = writer->folder_room * 2 + 16;
		writer->folders = xrealloc(writer->folders,
					   writer->folder_room *
						   sizeof(*writer->folders));
	}
	writer->folders[writer->folder_count++] = (struct folder){
		xstrdup(entry->path),
		entry->mode & 01777,
		{ entry->mtime, entry->mtime_ns },
	};
	return 0;
}

/*
 * The link that was made under a temporary name takes its place, and what was
 * there is lost only then; a folder is in the way.
 */
static int link_in_place(struct tree_writer *writer, const char *temporary,
			 const char *name)
{
	int rc = renameat(writer->parent, temporary, writer->parent, name);
	int why = errno;

	/* it is left also where both were names of one file already */
	(void)unlinkat(writer->parent, temporary, 0);
	errno = why;
	return rc;
}

static int make_symlink(struct tree_writer *writer,
			const struct tar_entry *entry, struct error *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { entry->mtime, entry->mtime_ns } };
	char temporary[TEMPORARY_MAX];
	const char *name;

	if (enter(writer, entry->path, &name, err) < 0)
		return -1;
	temporary_name(temporary);
	if (symlinkat(entry->target, writer->parent, temporary) < 0)
		return tree_error(err, errno, entry->path);
	if (set_owner(writer, writer->parent, temporary) < 0) {
		tree_error(err, errno, entry->path);
		(void)unlinkat(writer->parent, temporary, 0);
		return -1;
	}
	(void)utimensat(writer->parent, temporary, times, AT_SYMLINK_NOFOLLOW);
	if (link_in_place(writer, temporary, name) < 0)
		return tree_error(err, errno, entry->path);
	return 0;
}

static int make_hard_link(struct tree_writer *writer,
			  const struct tar_entry *entry, struct error *err)
{
	struct made wanted = { .path = (char *)entry->target };
	struct made **found = tfind(&wanted, &writer->made, compare_made);
	AUTO_CLOSE int fd = -1;
	char magic[TREE_MAGIC_MAX], temporary[TEMPORARY_MAX];
	const char *name;
	struct stat st;

	if (!found)
		return tree_error(err, EPERM, entry->path);
	fd = tree_open(writer->setup.root, entry->target, O_PATH | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return tree_error(err, errno, entry->target);
	if (st.st_dev != (*found)->dev || st.st_ino != (*found)->ino)
		return tree_error(err, ESTALE, entry->target);
	if (enter(writer, entry->path, &name, err) < 0)
		return -1;
	if (!strcmp(entry->path, entry->target))
		return 0;
	tree_magic(fd, magic);
	temporary_name(temporary);
	if (linkat(AT_FDCWD, magic, writer->parent, temporary,
		   AT_SYMLINK_FOLLOW) < 0 ||
	    link_in_place(writer, temporary, name) < 0)
		return tree_error(err, errno, entry->path);
	tree_writer_adopt(writer, entry->path, &st);
	return 0;
}

int tree_writer_entry(struct tree_writer *writer, const struct tar_entry *entry,
		      struct error *err)
{
	if (S_ISDIR(entry->mode))
		return make_folder(writer, entry, err);
	if (!entry->path[0])
		return error_set(err, 0, "an entry without a name");
	if (entry->hard_link)
		return make_hard_link(writer, entry, err);
	if (S_ISREG(entry->mode))
		return begin_file(writer, entry, err);
	if (S_ISLNK(entry->mode))
		return make_symlink(writer, entry, err);
	tree_error(err, 0, entry->path);
	return error_prefix(err, "devices and FIFOs are not copied");
}

int tree_writer_finish(struct tree_writer *writer, struct error *err)
{
	int result = 0;

	while (writer->folder_count) {
		struct folder *folder =
			&writer->folders[--writer->folder_count];
		AUTO_FREE char *path = TAKE_PTR(folder->path);
		struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					     folder->mtime };
		AUTO_CLOSE int fd = tree_open(writer->setup.root, path,
					      O_RDONLY | O_DIRECTORY);

		if (fd < 0 || fchmod(fd, folder->mode) < 0 ||
		    futimens(fd, times) < 0)
			result = tree_error(err, errno, path);
	}
	return result;
}
