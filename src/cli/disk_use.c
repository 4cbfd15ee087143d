/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_use.c - what a sandbox takes of the host's disk
 */
#include "cli/disk_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/checkpoint.h"
#include "state/snapshot.h"

#define BLOCK 512u
#define DEPTH_MAX 64

AUTO_DEFINE(dir, DIR *, closedir)

/* Which of the sums a file counts for, besides own or shared. */
enum part {
	PART_OTHER,
	PART_MEMORY,
	PART_CHECKPOINTS,
};

static void count(const struct stat *st, enum part part, struct disk_use *use)
{
	uint64_t bytes = (uint64_t)st->st_blocks * BLOCK;

	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		use->shared += bytes;
	else
		use->own += bytes;
	if (part == PART_MEMORY)
		use->memory += bytes;
	else if (part == PART_CHECKPOINTS)
		use->checkpoints += bytes;
}

static enum part part_of(const char *name, enum part above)
{
	if (above != PART_OTHER)
		return above;
	if (!strcmp(name, CHECKPOINT_FOLDER))
		return PART_CHECKPOINTS;
	return strcmp(name, SNAPSHOT_SUSPENDED) ? PART_OTHER : PART_MEMORY;
}

static void walk(int parent, const char *name, enum part part, unsigned depth,
		 struct disk_use *use)
{
	int fd = openat(parent, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	struct stat st;

	while (dir && depth < DEPTH_MAX && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		count(&st, part_of(entry->d_name, part), use);
		if (S_ISDIR(st.st_mode))
			walk(fd, entry->d_name, part_of(entry->d_name, part),
			     depth + 1, use);
	}
}

void disk_use_of(int parent, const char *name, struct disk_use *use)
{
	*use = (struct disk_use){ 0 };
	walk(parent, name, PART_OTHER, 0, use);
}
