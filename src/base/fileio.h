/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fileio.h - whole files, atomic replacement, locks
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct buffer;

/* All bytes or -1; retries short counts and EINTR; fd is blocking. */
int fileio_write_all(int fd, const void *bytes, size_t len, struct error *err);
int fileio_pwrite_all(int fd, const void *bytes, size_t len, off_t offset,
		      struct error *err);
/* Appends the rest of fd to out; more than out->max is an error (EFBIG). */
int fileio_read_fd(int fd, struct buffer *out, struct error *err);
/* A regular file, O_NOFOLLOW on the last step; dirfd may be AT_FDCWD. */
int fileio_read(int dirfd, const char *name, struct buffer *out,
		struct error *err);

/*
 * Opens a path that was free of links when it was noted: one that is on it now
 * was put there since, and is not followed (ELOOP; at the end of the path
 * O_PATH opens the link itself). -1 with errno.
 */
int fileio_open_real(const char *path, int flags);

enum fileio_flags {
	FILEIO_SYNC = 1 << 0, /* fsync the file before, the folder after */
};

/*
 * Writes to a temporary name in the same folder and renames: readers see the
 * old content or the new one, never a part.
 */
int fileio_replace(int dirfd, const char *name, const void *bytes, size_t len,
		   mode_t mode, unsigned flags, struct error *err);
/* mkdir -p; existing folders are fine. */
int fileio_mkdirs(const char *path, mode_t mode, struct error *err);
/* rm -rf beneath dirfd, never following a link. A missing name is fine. */
int fileio_remove_tree(int dirfd, const char *name, struct error *err);
int fileio_sync_dir(const char *path, struct error *err);

enum fileio_lock_mode {
	FILEIO_LOCK_WAIT,
	FILEIO_LOCK_TRY, /* -1 with err->code == EWOULDBLOCK when held */
};

/* Opens (creating, 0600) and flocks exclusively; closing the fd unlocks. */
int fileio_lock(int dirfd, const char *name, enum fileio_lock_mode mode,
		struct error *err);
/* 1 when somebody holds the lock, 0 when nobody does or no file exists. */
int fileio_is_locked(int dirfd, const char *name);

/* Copies with holes kept; reflink where the file system can. */
int fileio_copy_sparse(int from, int to, struct error *err);
/*
 * The first `size` bytes into an empty file, without ioctl(): for a process
 * that may not call it. copy_file_range() shares blocks where it can.
 */
int fileio_copy_data(int from, int to, off_t size, struct error *err);
