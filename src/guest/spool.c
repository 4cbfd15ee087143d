/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.c - a disk of the host's onto which a tool writes
 */
#include "guest/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/sysfile.h"

#define BLOCK_FOLDER "/sys/block"
/* Past the page cache: then they are for the disk to be aligned. */
#define ALIGNMENT 4096u
#define CHUNK_BYTES (1u << 20)
#define TELL_BYTES (64u << 20)

AUTO_DEFINE(dir, DIR *, closedir)

static _Alignas(ALIGNMENT) uint8_t chunk[CHUNK_BYTES];
static size_t chunk_len;
static uint64_t written, told;
static int disk = -1;

static bool is_spool(int folder, const char *device)
{
	char path[300], serial[64];

	if (text_format(path, sizeof(path), "%s/serial", device) < 0 ||
	    sysfile_read(folder, path, serial, sizeof(serial)) < 0)
		return false;
	serial[strcspn(serial, "\n")] = '\0';
	return strcmp(serial, SPOOL_SERIAL) == 0;
}

int spool_open(struct error *err)
{
	AUTO(dir) DIR *folder = opendir(BLOCK_FOLDER);
	struct dirent *entry;
	char path[300];

	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' ||
		    !is_spool(dirfd(folder), entry->d_name) ||
		    text_format(path, sizeof(path), "/dev/%s", entry->d_name))
			continue;
		disk = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
		return disk < 0 ? error_set(err, errno, "%s", path) : 0;
	}
	return error_set(err, ENODEV, "the disk " SPOOL_SERIAL);
}

static int tell(struct error *err)
{
	char line[32];

	told = written;
	text_format(line, sizeof(line), "%llu\n", (unsigned long long)written);
	return fileio_write_all(STDOUT_FILENO, line, strlen(line), err);
}

static int write_chunk(struct error *err)
{
	size_t whole = (chunk_len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	memset(chunk + chunk_len, 0, whole - chunk_len);
	if (fileio_write_all(disk, chunk, whole, err) < 0)
		return error_prefix(err, "the disk " SPOOL_SERIAL);
	written += chunk_len;
	chunk_len = 0;
	return written - told >= TELL_BYTES ? tell(err) : 0;
}

int spool_put(void *ctx, const void *bytes, size_t len, struct error *err)
{
	const uint8_t *at = bytes;

	while (len) {
		size_t room = sizeof(chunk) - chunk_len;
		size_t now = len < room ? len : room;

		memcpy(chunk + chunk_len, at, now);
		chunk_len += now;
		at += now;
		len -= now;
		if (chunk_len == sizeof(chunk) && write_chunk(err) < 0)
			return -1;
	}
	return 0;
}

int spool_finish(struct error *err)
{
	if (write_chunk(err) < 0)
		return -1;
	return tell(err);
}
