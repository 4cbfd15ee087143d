/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fileio.c - whole files, atomic replacement, locks
 */
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

int fileio_write_all(int fd, const void *bytes, size_t len, struct error *err)
{
	const uint8_t *from = bytes;

	while (len) {
		ssize_t put = write(fd, from, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return error_set(err, errno, "write");
		from += put;
		len -= (size_t)put;
	}
	return 0;
}

int fileio_pwrite_all(int fd, const void *bytes, size_t len, off_t offset,
		      struct error *err)
{
	const uint8_t *from = bytes;

	while (len) {
		ssize_t put = pwrite(fd, from, len, offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return error_set(err, errno, "write");
		from += put;
		offset += put;
		len -= (size_t)put;
	}
	return 0;
}

int fileio_read_fd(int fd, struct buffer *out, struct error *err)
{
	uint8_t chunk[16 * 1024];

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "read");
		if (!got)
			return 0;
		if (buffer_append(out, chunk, (size_t)got) < 0)
			return error_set(err, EFBIG, "more than %zu bytes",
					 out->max);
	}
}

int fileio_read(int dirfd, const char *name, struct buffer *out,
		struct error *err)
{
	/* O_NONBLOCK: a fifo put in the file's place must not hold us. */
	AUTO_CLOSE int fd = openat(dirfd, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s: not a regular file", name);
	if (fileio_read_fd(fd, out, err) < 0)
		return error_prefix(err, "%s", name);
	return 0;
}

/* "folder/name" -> "folder/.name.XXXXXX" with six random characters. */
static int temporary_name(const char *name, char *dst, size_t size,
			  struct error *err)
{
	/* 64 characters, so that a byte maps without bias. */
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	const char *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name;
	uint8_t random[6];
	char suffix[sizeof(random) + 1] = "";

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_set(err, errno, "getrandom");
	for (size_t i = 0; i < sizeof(random); i++)
		suffix[i] = alphabet[random[i] & 63];
	if (text_format(dst, size, "%.*s.%s.%s", (int)(last - name), name, last,
			suffix) < 0)
		return error_set(err, ENAMETOOLONG, "%s", name);
	return 0;
}

/* Opens a new file beside name; its name goes to temporary. */
static int open_temporary(int dirfd, const char *name, char *temporary,
			  size_t size, struct error *err)
{
	for (int tries = 0; tries < 100; tries++) {
		int fd;

		if (temporary_name(name, temporary, size, err) < 0)
			return -1;
		fd = openat(dirfd, temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	return error_set(err, errno, "%s", temporary);
}

static int sync_folder_of(int dirfd, const char *name, struct error *err)
{
	const char *slash = strrchr(name, '/');
	char folder[PATH_MAX] = ".";
	AUTO_CLOSE int fd = -1;

	if (slash &&
	    text_format(folder, sizeof(folder), "%.*s",
			slash == name ? 1 : (int)(slash - name), name) < 0)
		return error_set(err, ENAMETOOLONG, "%s", name);
	fd = openat(dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return error_set(err, errno, "sync %s", folder);
	return 0;
}

static int fill_temporary(int fd, const void *bytes, size_t len, mode_t mode,
			  unsigned flags, struct error *err)
{
	if (fileio_write_all(fd, bytes, len, err) < 0)
		return -1;
	/* Not by the umask of whoever started us: the caller named a mode. */
	if (fchmod(fd, mode) < 0)
		return error_set(err, errno, "chmod");
	if ((flags & FILEIO_SYNC) && fsync(fd) < 0)
		return error_set(err, errno, "sync");
	return 0;
}

int fileio_replace(int dirfd, const char *name, const void *bytes, size_t len,
		   mode_t mode, unsigned flags, struct error *err)
{
	char temporary[PATH_MAX];
	AUTO_CLOSE int fd =
		open_temporary(dirfd, name, temporary, sizeof(temporary), err);

	if (fd < 0)
		return -1;
	if (fill_temporary(fd, bytes, len, mode, flags, err) < 0) {
		(void)unlinkat(dirfd, temporary, 0);
		return error_prefix(err, "%s", name);
	}
	if (renameat(dirfd, temporary, dirfd, name) < 0) {
		(void)error_set(err, errno, "%s", name);
		(void)unlinkat(dirfd, temporary, 0);
		return -1;
	}
	return flags & FILEIO_SYNC ? sync_folder_of(dirfd, name, err) : 0;
}

/* An existing folder, or a link to one: /var/run is often a link. */
static int make_folder(const char *path, mode_t mode, struct error *err)
{
	struct stat st;
	int why;

	if (mkdir(path, mode) == 0)
		return 0;
	why = errno;
	if (why != EEXIST && why != EROFS && why != EACCES)
		return error_set(err, why, "%s", path);
	if (stat(path, &st) < 0)
		return error_set(err, why == EEXIST ? errno : why, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ENOTDIR, "%s", path);
	return 0;
}

int fileio_mkdirs(const char *path, mode_t mode, struct error *err)
{
	char part[PATH_MAX];

	if (!*path)
		return error_set(err, ENOENT, "empty path");
	if (text_copy(part, sizeof(part), path) < 0)
		return error_set(err, ENAMETOOLONG, "%s", path);
	for (char *pos = part + 1; *pos; pos++) {
		int rc;

		if (*pos != '/')
			continue;
		*pos = '\0';
		rc = make_folder(part, mode, err);
		*pos = '/';
		if (rc < 0)
			return -1;
	}
	return make_folder(part, mode, err);
}

int fileio_open_real(const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	return (int)fd;
}

int fileio_sync_dir(const char *path, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return error_set(err, errno, "sync %s", path);
	return 0;
}

int fileio_lock(int dirfd, const char *name, enum fileio_lock_mode mode,
		struct error *err)
{
	AUTO_CLOSE int fd = openat(
		dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int operation = LOCK_EX | (mode == FILEIO_LOCK_TRY ? LOCK_NB : 0);

	if (fd < 0)
		return error_set(err, errno, "%s", name);
	while (flock(fd, operation) < 0) {
		if (errno != EINTR)
			return error_set(err, errno, "lock %s", name);
	}
	return TAKE_FD(fd);
}

int fileio_is_locked(int dirfd, const char *name)
{
	AUTO_CLOSE int fd = openat(dirfd, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);

	/*
	 * A shared lock, so that two who only ask do not see each other. It is
	 * held for an instant; FILEIO_LOCK_TRY of the owner may lose to it,
	 * which is why owners lock before anybody knows the file.
	 */
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK;
}
