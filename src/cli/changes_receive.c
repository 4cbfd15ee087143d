/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_receive.c - the archive of a guest's changes, onto the host's disk
 *
 * A guest can make a file of any size out of nothing, by mistake or not. One
 * that could never fit is refused by its name before its content comes, zeros
 * stay holes here too, and the disk keeps some room in any case.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "changes/change_set.h"
#include "cli/changes_internal.h"
#include "cli/stream.h"
#include "tar/tar_read.h"
#include "tree/tree_open.h"

#define KEEP_FREE (256ull << 20)
#define FREE_STEP (16u << 20)
#define PIECE_BYTES 4096

AUTO_DEFINE(reader, struct tar_reader *, tar_reader_free)

struct receiving {
	int fd;
	uint64_t at;    /* where the next byte goes */
	uint64_t since; /* bytes that came since the room was looked at */
};

/* What may still be written. */
static uint64_t room(int fd)
{
	struct statvfs vfs;
	uint64_t free_bytes;

	if (fstatvfs(fd, &vfs) < 0)
		return UINT64_MAX;
	free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	return free_bytes > KEEP_FREE ? free_bytes - KEEP_FREE : 0;
}

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	const struct receiving *receiving = ctx;

	if (entry->size <= room(receiving->fd))
		return 0;
	tree_error(err, 0, entry->path);
	return error_prefix(err,
			    "a file of %" PRIu64 " MiB, for which there is no "
			    "room here (remove it in the sandbox)",
			    entry->size >> 20);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	return 0;
}

static int put(struct receiving *receiving, const uint8_t *bytes, size_t len,
	       struct error *err)
{
	while (len) {
		size_t piece = len < PIECE_BYTES ? len : PIECE_BYTES;

		if (!mem_is_zero(bytes, piece) &&
		    fileio_pwrite_all(receiving->fd, bytes, piece,
				      (off_t)receiving->at, err) < 0)
			return -1;
		receiving->at += piece;
		bytes += piece;
		len -= piece;
	}
	return 0;
}

static int take(struct receiving *receiving, struct tar_reader *reader,
		const uint8_t *bytes, size_t len, struct error *err)
{
	receiving->since += len;
	if (receiving->since >= FREE_STEP) {
		if (!room(receiving->fd))
			return error_set(err, ENOSPC, "set of changes");
		receiving->since = 0;
	}
	if (tar_reader_feed(reader, bytes, len, err) < 0 ||
	    put(receiving, bytes, len, err) < 0)
		return error_prefix(err, "set of changes");
	return 0;
}

int changes_receive(struct stream *stream, int fd, struct error *err)
{
	struct receiving receiving = { .fd = fd, .since = FREE_STEP };
	struct tar_limits limits = { CHANGE_SET_ENTRIES_MAX, INT64_MAX };
	struct tar_events events = { on_entry, on_data, on_end, &receiving };
	AUTO(reader)
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	const uint8_t *bytes;
	size_t len;
	int got;

	stream_end_input(stream);
	while ((got = stream_read(stream, &bytes, &len, err)) > 0)
		if (take(&receiving, reader, bytes, len, err) < 0)
			return -1;
	if (got < 0 || stream_finish(stream, err) < 0)
		return -1;
	/* it may end in a hole */
	if (ftruncate(fd, (off_t)receiving.at) < 0)
		return error_set(err, errno, "set of changes");
	return 0;
}
