/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed.c - files that an agent finds in its home when it starts
 *
 * All of it is done as that user: whatever is planted there, nothing is
 * touched that its programs could not touch themselves.
 */
#include "guest/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "guest/accounts.h"
#include "tar/tar_read.h"
#include "tar/tar_write.h"
#include "tree/tree_open.h"

#define READ_BYTES (64u * 1024)
#define MODE 0600

struct seed {
	int home, out;
	enum seed_mode mode;
	char path[TAR_PATH_MAX]; /* of the file that comes; "": of none */
	struct buffer content;
};

int seed_become_agent(int *home, struct error *err)
{
	AUTO_BUFFER struct buffer passwd = BUFFER_INIT(ACCOUNT_FILE_MAX);
	AUTO_BUFFER struct buffer group = BUFFER_INIT(ACCOUNT_FILE_MAX);
	struct account_files files;
	struct account account;

	(void)fileio_read(AT_FDCWD, "/etc/passwd", &passwd, NULL);
	(void)fileio_read(AT_FDCWD, "/etc/group", &group, NULL);
	files.passwd = (struct slice){ (const char *)passwd.data, passwd.len };
	files.group = (struct slice){ (const char *)group.data, group.len };
	if (account_resolve(&files, "", &account) < 0)
		return error_set(err, 0, "there is no user for sessions");
	if (setgroups(account.group_count, account.groups) ||
	    setresgid(account.gid, account.gid, account.gid) ||
	    setresuid(account.uid, account.uid, account.uid))
		return error_set(err, errno, "setresuid");
	*home = open(account.home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *home < 0 ? error_set(err, errno, "%s", account.home) : 0;
}

/* ---- one file ---- */

static void note(const char *path, const char *why)
{
	fprintf(stderr, "%s in the home: %s\n", path, why);
}

static int put(const struct seed *seed, const char *path,
	       const struct buffer *content, struct error *err)
{
	struct tar_entry entry = { .path = path,
				   .mode = S_IFREG | MODE,
				   .size = content->len };
	AUTO_BUFFER struct buffer head = BUFFER_INIT(8 * TAR_BLOCK);
	static const char zeroes[TAR_BLOCK];

	if (tar_write_entry(&entry, &head) < 0)
		return error_set(err, 0, "%s: too long", path);
	if (fileio_write_all(seed->out, head.data, head.len, err) < 0 ||
	    fileio_write_all(seed->out, content->data, content->len, err) < 0)
		return -1;
	return fileio_write_all(seed->out, zeroes, tar_padding(content->len),
				err);
}

/* What cannot be read as a plain file is somebody's own business. */
static int tell(const struct seed *seed, struct error *err)
{
	AUTO_BUFFER struct buffer content = BUFFER_INIT(SEED_BYTES_MAX);
	AUTO_CLOSE int fd =
		tree_open(seed->home, seed->path,
			  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fileio_read_fd(fd, &content, NULL) < 0) {
		note(seed->path, "left as it is");
		return 0;
	}
	return put(seed, seed->path, &content, err);
}

static int make(struct seed *seed, int folder, const char *name,
		struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);

	if (fd < 0 && errno == EEXIST)
		return tell(seed, err);
	if (fd < 0)
		return error_set(err, errno, "%s", seed->path);
	return fileio_write_all(fd, seed->content.data, seed->content.len, err);
}

static int replace(struct seed *seed, int folder, const char *name,
		   struct error *err)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISREG(st.st_mode)) {
		note(seed->path, "left as it is");
		return 0;
	}
	return fileio_replace(folder, name, seed->content.data,
			      seed->content.len, MODE, 0, err);
}

static int on_end(void *ctx, struct error *err)
{
	struct seed *seed = ctx;
	AUTO_CLOSE int folder = -1;
	struct error own = { 0 };
	const char *name;
	int result;

	if (!seed->path[0])
		return 0;
	folder = tree_open_parent(seed->home, seed->path, TREE_MAKE_PARENTS,
				  &name, &own);
	if (folder < 0) {
		note(seed->path, own.text);
		return 0;
	}
	result = seed->mode == SEED_NEW ? make(seed, folder, name, err)
					: replace(seed, folder, name, err);
	seed->path[0] = '\0';
	buffer_consume(&seed->content, seed->content.len);
	return result;
}

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct seed *seed = ctx;

	if (!S_ISREG(entry->mode) || entry->hard_link || !entry->path[0])
		return error_set(err, 0, "only files are taken here");
	memcpy(seed->path, entry->path, strlen(entry->path) + 1);
	return 0;
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	struct seed *seed = ctx;

	return buffer_append(&seed->content, bytes, len) < 0
		       ? error_set(err, EFBIG, "%s", seed->path)
		       : 0;
}

/* ---- all of them ---- */

static int feed(struct tar_reader *reader, int in, struct error *err)
{
	static uint8_t bytes[READ_BYTES];

	for (;;) {
		ssize_t got = read(in, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "stdin");
		if (!got)
			return tar_reader_finish(reader, err);
		if (tar_reader_feed(reader, bytes, (size_t)got, err) < 0)
			return -1;
	}
}

int seed_serve(int home, enum seed_mode mode, int in, int out,
	       struct error *err)
{
	const struct tar_limits limits = { .entries = SEED_FILES_MAX,
					   .bytes = (uint64_t)SEED_FILES_MAX *
						    2 * SEED_BYTES_MAX };
	struct seed seed = { .home = home, .out = out, .mode = mode };
	const struct tar_events events = {
		.entry = on_entry, .data = on_data, .end = on_end, .ctx = &seed
	};
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	AUTO_BUFFER struct buffer end = BUFFER_INIT(2 * TAR_BLOCK);
	int result;

	buffer_init(&seed.content, SEED_BYTES_MAX);
	result = feed(reader, in, err);
	tar_reader_free(reader);
	buffer_release(&seed.content);
	if (result == 0 && tar_write_end(&end) == 0)
		result = fileio_write_all(out, end.data, end.len, err);
	return result;
}
