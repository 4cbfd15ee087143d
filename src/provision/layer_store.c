/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_store.c - the cache of layers as a whole: cache/layers/
 */
#include "provision/layer_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "state/paths.h"

#define FOLDER "layers"

enum use {
	COUNT,
	REMOVE,
};

static void visit(int folder, const char *name, enum use use, uint64_t *bytes)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || fileio_is_locked(folder, name))
		return;
	if (use == COUNT || unlinkat(folder, name, 0) == 0)
		*bytes += (uint64_t)st.st_blocks * 512;
}

static int each(enum use use, uint64_t *bytes, struct error *err)
{
	int fd = paths_open(PATHS_CACHE, FOLDER, err);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd < 0)
		return -1;
	if (!folder) {
		close(fd);
		return error_set(err, errno, FOLDER);
	}
	while ((entry = readdir(folder)))
		visit(fd, entry->d_name, use, bytes);
	closedir(folder);
	return 0;
}

int layer_store_bytes(uint64_t *bytes, struct error *err)
{
	*bytes = 0;
	return each(COUNT, bytes, err);
}

int layer_store_clear(uint64_t *freed, struct error *err)
{
	return each(REMOVE, freed, err);
}
