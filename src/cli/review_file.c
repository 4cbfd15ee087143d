/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review_file.c - one held file: read, compared, written to the host, forgotten
 */
#include "cli/review_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "tree/tree_open.h"

#define DIFF_BYTES_MAX (8U << 20)
#define LINE_SHOWN_MAX 2048
#define PIECE_BYTES 256

static int read_link(int fd, struct review_version *version)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target));

	return len < 0 ? -1
		       : buffer_append(&version->buffer, target, (size_t)len);
}

static int read_version(int root, const char *path,
			struct review_version *version, struct error *err)
{
	AUTO_CLOSE int fd = tree_open(root, path, O_PATH | O_NOFOLLOW);
	AUTO_CLOSE int data = -1;
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (fd < 0 || fstat(fd, &version->st) < 0)
		return tree_error(err, errno, path);
	if (S_ISLNK(version->st.st_mode) && read_link(fd, version) < 0)
		return tree_error(err, errno, path);
	if (!S_ISREG(version->st.st_mode))
		return 0;
	data = tree_open(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (data < 0 || fstat(data, &st) < 0)
		return tree_error(err, errno, path);
	if (!S_ISREG(st.st_mode) || st.st_ino != version->st.st_ino)
		return tree_error(err, ESTALE, path);
	if (fileio_read_fd(data, &version->buffer, err) == 0)
		return 0;
	version->too_big = err->code == EFBIG;
	return version->too_big ? 0 : tree_error(err, err->code, path);
}

int review_read_guest(const struct review *review,
		      const struct review_item *item,
		      struct review_version *version, struct error *err)
{
	AUTO_CLOSE int root = review_open_shadow(review, item->share);

	if (root < 0)
		return tree_error(err, errno, item->path);
	return read_version(root, item->path, version, err);
}

int review_read_host(const struct review *review,
		     const struct review_item *item,
		     struct review_version *version, struct error *err)
{
	AUTO_CLOSE int root = review_open_host(review, item->share, err);

	if (root < 0)
		return -1;
	return read_version(root, item->path, version, err);
}

static int memory_with(const struct review_version *version, struct error *err)
{
	AUTO_CLOSE int fd = memfd_create("bawn-review", MFD_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "memory");
	if (fileio_write_all(fd, version->buffer.data, version->buffer.len,
			     err) < 0)
		return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? error_set(err, errno, "memory")
					  : TAKE_FD(fd);
}

/* A part of a line, up to a tab or between characters of UTF-8. */
static const char *piece_end(const char *at, const char *end)
{
	const char *stop = at;

	while (stop < end && *stop != '\n' && *stop != '\t' &&
	       (stop - at < PIECE_BYTES ||
		((*stop & 0xc0) == 0x80 && stop - at < PIECE_BYTES + 4)))
		stop++;
	return stop;
}

/*
 * Ends of lines and tabs are the only control characters left. No line is cut:
 * what is not shown would be written all the same.
 */
static int append_lines(struct buffer *out, const struct buffer *raw)
{
	const char *at = (const char *)raw->data, *end = at + raw->len;
	char shown[LINE_SHOWN_MAX];

	while (at < end) {
		const char *stop = piece_end(at, end);
		bool control = stop < end && (*stop == '\n' || *stop == '\t');

		text_printable(at, (size_t)(stop - at), shown, sizeof(shown));
		if (buffer_printf(out, "%s%.*s", shown, control, stop) < 0)
			return -1;
		at = stop + control;
	}
	return 0;
}

/* Of a mode that matters, or of what a link leads to, diff says nothing. */
static void append_facts(const struct review_version *version,
			 const char *whose, struct buffer *out)
{
	char shown[LINE_SHOWN_MAX];

	if (S_ISLNK(version->st.st_mode)) {
		text_printable((const char *)version->buffer.data,
			       version->buffer.len, shown, sizeof(shown));
		buffer_printf(out, "%s: a symbolic link to %s\n", whose, shown);
	} else if (S_ISREG(version->st.st_mode) &&
		   (version->st.st_mode & 0111)) {
		buffer_printf(out, "%s: can be executed\n", whose);
	}
}

int review_diff(const struct review *review, const struct review_item *item,
		const struct review_version *host,
		const struct review_version *guest, struct buffer *out,
		struct error *err)
{
	AUTO_BUFFER struct buffer raw = BUFFER_INIT(DIFF_BYTES_MAX);
	AUTO_FREE char *name = review_name(review, item);
	AUTO_FREE char *host_label = NULL, *guest_label = NULL;
	const char *tool = child_tool("diff", err);
	AUTO_CLOSE int left = -1, right = -1;
	char shown[LINE_SHOWN_MAX];

	text_printable(name, strlen(name), shown, sizeof(shown));
	host_label = xasprintf("host/%s", shown);
	guest_label = xasprintf("guest/%s", shown);
	append_facts(host, "host", out);
	append_facts(guest, "guest", out);
	left = tool ? memory_with(host, err) : -1;
	right = left < 0 ? -1 : memory_with(guest, err);
	if (right < 0)
		return -1;
	if (host->too_big || guest->too_big)
		return error_set(err, EFBIG, "%s", shown);
	{
		const char *argv[] = { "diff",      "-u",       "--text",
				       "--label",   host_label, "--label",
				       guest_label, "--",       "/dev/fd/3",
				       "/dev/fd/4", NULL };
		struct child_fd fds[] = { { left, 3 }, { right, 4 } };
		struct child_spec spec = { .path = tool,
					   .argv = argv,
					   .fds = fds,
					   .fd_count = ARRAY_SIZE(fds),
					   .flags = CHILD_DIE_WITH_US |
						    CHILD_NULL_STDIO };

		/* 1 means that they differ. */
		if (child_run(&spec, &raw, err) < 0 && !raw.len)
			return -1;
	}
	return append_lines(out, &raw) < 0 ? error_set(err, EFBIG, "%s", shown)
					   : 0;
}

static void temporary_name(char *name, size_t size)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (uint64_t)getpid();
	text_format(name, size, ".bawn-%016llx.tmp",
		    (unsigned long long)random);
}

/* New files belong to whom their folder belongs to. */
static int write_file(int folder, const char *name,
		      const struct review_version *version, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name,
		O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return error_set(err, errno, "%s", name);
	if (fileio_write_all(fd, version->buffer.data, version->buffer.len,
			     err) < 0)
		return -1;
	if (geteuid() == 0 && fstat(folder, &st) == 0 &&
	    fchown(fd, st.st_uid, st.st_gid) < 0)
		return error_set(err, errno, "%s", name);
	if (fchmod(fd, version->st.st_mode & 0777) < 0 || fsync(fd) < 0)
		return error_set(err, errno, "%s", name);
	return 0;
}

static int write_link(int folder, const char *name,
		      struct review_version *version, struct error *err)
{
	const char *target = buffer_str(&version->buffer);
	struct stat st;

	if (!target || symlinkat(target, folder, name) < 0)
		return error_set(err, errno, "%s", name);
	if (geteuid() == 0 && fstat(folder, &st) == 0 &&
	    fchownat(folder, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) <
		    0)
		return error_set(err, errno, "%s", name);
	return 0;
}

static int remove_host(int folder, const char *name, const char *path,
		       struct error *err)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : tree_error(err, errno, path);
	if (S_ISDIR(st.st_mode))
		return error_say(err, EISDIR,
				 "the guest removed a folder that is not empty "
				 "here; remove it yourself");
	return unlinkat(folder, name, 0) < 0 ? tree_error(err, errno, path) : 0;
}

int review_apply(const struct review *review, const struct review_item *item,
		 const struct review_version *guest, struct error *err)
{
	AUTO_CLOSE int root = review_open_host(review, item->share, err);
	struct review_version *version = (struct review_version *)guest;
	AUTO_CLOSE int folder = -1;
	char temporary[64];
	const char *name;
	int made;

	if (root < 0)
		return -1;
	if (guest->too_big)
		return tree_error(err, EFBIG, item->path);
	if (!guest->st.st_mode ||
	    S_ISSOCK(guest->st.st_mode) != (item->change == REVIEW_REMOVED))
		return error_say(err, ESTALE,
				 "the guest has changed it meanwhile; look "
				 "again");
	folder = tree_open_parent(root, item->path, TREE_MAKE_PARENTS, &name,
				  err);
	if (folder < 0)
		return -1;
	if (item->change == REVIEW_REMOVED)
		return remove_host(folder, name, item->path, err);
	temporary_name(temporary, sizeof(temporary));
	made = S_ISLNK(guest->st.st_mode)
		       ? write_link(folder, temporary, version, err)
		       : write_file(folder, temporary, guest, err);
	if (!made && renameat(folder, temporary, folder, name) < 0)
		made = tree_error(err, errno, item->path);
	if (made < 0)
		unlinkat(folder, temporary, 0);
	return made;
}

static bool is_that_one(int folder, const char *name, const struct stat *was)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == was->st_ino && st.st_size == was->st_size &&
	       st.st_mode == was->st_mode &&
	       st.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

int review_drop(const struct review *review, const struct review_item *item,
		const struct review_version *only_if, struct error *err)
{
	AUTO_CLOSE int root = review_open_shadow(review, item->share);
	AUTO_CLOSE int folder = -1;
	const char *name;

	if (root < 0)
		return tree_error(err, errno, item->path);
	folder = tree_open_parent(root, item->path, 0, &name, err);
	if (folder < 0)
		return -1;
	if (only_if && !is_that_one(folder, name, &only_if->st))
		return 0;
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return tree_error(err, errno, item->path);
	return 0;
}
