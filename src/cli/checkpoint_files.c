/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_files.c - folders and copies that checkpoints are made of
 */
#include "cli/checkpoint_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"

int checkpoint_open_dir(int parent, const char *name, struct error *err)
{
	int fd = openat(parent, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "%s", name) : fd;
}

int checkpoint_copy_unsynced(int from_folder, const char *from_name,
			     int to_folder, const char *to_name,
			     struct error *err)
{
	AUTO_CLOSE int from =
		openat(from_folder, from_name,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_CLOSE int to = -1;

	if (from < 0)
		return error_set(err, errno, "%s", from_name);
	to = openat(to_folder, to_name,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (to < 0)
		return error_set(err, errno, "%s", to_name);
	if (fileio_copy_sparse(from, to, err) < 0)
		return error_prefix(err, "%s", to_name);
	return 0;
}

int checkpoint_sync_file(int folder, const char *name, struct error *err)
{
	AUTO_CLOSE int fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? error_set(err, errno, "%s", name) : 0;
}

int checkpoint_copy_file(int from_folder, const char *from_name, int to_folder,
			 const char *to_name, struct error *err)
{
	return checkpoint_copy_unsynced(from_folder, from_name, to_folder,
					to_name, err) < 0
		       ? -1
		       : checkpoint_sync_file(to_folder, to_name, err);
}
