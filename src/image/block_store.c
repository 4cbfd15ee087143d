/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_store.c - the image file as libext2fs sees it
 *
 * Blocks hang in a two-level table (4 MiB of image for each second level).
 * When more than HELD_MAX are in memory, all are written out and dropped; from
 * then on a miss has to be read from the file.
 */
#include "image/block_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"

#define BLOCKS_PER_CHUNK 1024u
#define HELD_MAX ((size_t)12 * 1024) /* 48 MiB */
#define RUN_MAX 256
#define STAGE_BYTES ((size_t)1024 * 1024)

struct chunk {
	uint8_t *block[BLOCKS_PER_CHUNK]; /* owned; NULL: not in memory */
};

struct block_store {
	int fd;
	uint64_t bytes;
	struct chunk **chunks; /* owned */
	size_t chunk_count;
	size_t held;
	bool spilled; /* what is not in memory may be in the file */
	struct error failure;
	/* file data that waits for its neighbour */
	uint8_t *stage;
	uint64_t stage_at;
	size_t stage_len;
};

/* libext2fs opens by name; this is how the descriptor gets through. */
static struct block_store *store_to_open;

struct block_store *block_store_new(int fd, uint64_t bytes)
{
	struct block_store *store = xcalloc(1, sizeof(*store));
	uint64_t chunk_bytes = (uint64_t)BLOCKS_PER_CHUNK * BLOCK_STORE_BLOCK;

	store->fd = fd;
	store->bytes = bytes;
	store->chunk_count = (size_t)((bytes + chunk_bytes - 1) / chunk_bytes);
	store->chunks = xcalloc(store->chunk_count, sizeof(struct chunk *));
	store->stage = xmalloc(STAGE_BYTES);
	return store;
}

static void drop_all(struct block_store *store)
{
	for (size_t i = 0; i < store->chunk_count; i++) {
		struct chunk *chunk = store->chunks[i];

		for (size_t j = 0; chunk && j < BLOCKS_PER_CHUNK; j++)
			free(chunk->block[j]);
		free(chunk);
		store->chunks[i] = NULL;
	}
	store->held = 0;
}

void block_store_free(struct block_store *store)
{
	if (!store)
		return;
	drop_all(store);
	free(store->chunks);
	free(store->stage);
	free(store);
}

struct run {
	struct iovec iov[RUN_MAX];
	int count;
	uint64_t first; /* block number of iov[0] */
};

static int write_run(struct block_store *store, struct run *run)
{
	uint64_t offset = run->first * BLOCK_STORE_BLOCK;
	size_t total = (size_t)run->count * BLOCK_STORE_BLOCK;
	int count = run->count;
	ssize_t done;

	run->count = 0;
	if (count == 0)
		return 0;
	done = pwritev(store->fd, run->iov, count, (off_t)offset);
	if (done == (ssize_t)total)
		return 0;
	/* A short write is rare (a full disk): go on block by block. */
	for (int i = 0; i < count; i++)
		if (fileio_pwrite_all(
			    store->fd, run->iov[i].iov_base, BLOCK_STORE_BLOCK,
			    (off_t)(offset + (uint64_t)i * BLOCK_STORE_BLOCK),
			    &store->failure) < 0)
			return -1;
	return 0;
}

static int write_held(struct block_store *store)
{
	struct run run = { .count = 0 };

	for (size_t i = 0; i < store->chunk_count; i++) {
		struct chunk *chunk = store->chunks[i];

		for (size_t j = 0; chunk && j < BLOCKS_PER_CHUNK; j++) {
			uint64_t number = (uint64_t)i * BLOCKS_PER_CHUNK + j;

			if (!chunk->block[j])
				continue;
			if ((run.count == RUN_MAX ||
			     number != run.first + (uint64_t)run.count) &&
			    write_run(store, &run) < 0)
				return -1;
			if (run.count == 0)
				run.first = number;
			run.iov[run.count++] =
				(struct iovec){ chunk->block[j],
						BLOCK_STORE_BLOCK };
		}
	}
	return write_run(store, &run);
}

static int spill(struct block_store *store)
{
	if (store->fd < 0) {
		error_set(&store->failure, ENOMEM, "too much metadata");
		return -1;
	}
	if (write_held(store) < 0)
		return -1;
	drop_all(store);
	store->spilled = true;
	return 0;
}

static uint8_t *find(const struct block_store *store, uint64_t number)
{
	const struct chunk *chunk = store->chunks[number / BLOCKS_PER_CHUNK];

	return chunk ? chunk->block[number % BLOCKS_PER_CHUNK] : NULL;
}

static int load(struct block_store *store, uint64_t number, uint8_t *block)
{
	ssize_t got;

	memset(block, 0, BLOCK_STORE_BLOCK);
	if (!store->spilled)
		return 0;
	got = pread(store->fd, block, BLOCK_STORE_BLOCK,
		    (off_t)(number * BLOCK_STORE_BLOCK));
	return got < 0 ? error_set(&store->failure, errno, "reading back") : 0;
}

/* The block in memory, for writing; NULL when it cannot be had. */
static uint8_t *hold(struct block_store *store, uint64_t number)
{
	uint8_t *block = find(store, number);
	struct chunk **chunk;

	if (block)
		return block;
	if (store->held >= HELD_MAX && spill(store) < 0)
		return NULL;
	block = xmalloc(BLOCK_STORE_BLOCK);
	if (load(store, number, block) < 0) {
		free(block);
		return NULL;
	}
	chunk = &store->chunks[number / BLOCKS_PER_CHUNK];
	if (!*chunk)
		*chunk = xcalloc(1, sizeof(**chunk));
	(*chunk)->block[number % BLOCKS_PER_CHUNK] = block;
	store->held++;
	return block;
}

/* libext2fs counts in blocks of its own size, or in bytes when negative. */
static bool range_of(io_channel channel, unsigned long long block, int count,
		     uint64_t *offset, uint64_t *len)
{
	struct block_store *store = channel->private_data;

	*offset = (uint64_t)block * (uint64_t)channel->block_size;
	*len = count < 0 ? (uint64_t) - (int64_t)count
			 : (uint64_t)count * (uint64_t)channel->block_size;
	return *offset <= store->bytes && *len <= store->bytes - *offset;
}

static errcode_t store_read(io_channel channel, unsigned long long first,
			    int count, void *data)
{
	struct block_store *store = channel->private_data;
	uint8_t fresh[BLOCK_STORE_BLOCK], *to = data;
	uint64_t offset, len;

	if (!range_of(channel, first, count, &offset, &len))
		return EXT2_ET_SHORT_READ;
	while (len > 0) {
		uint64_t number = offset / BLOCK_STORE_BLOCK;
		size_t skip = offset % BLOCK_STORE_BLOCK;
		size_t part = BLOCK_STORE_BLOCK - skip;
		const uint8_t *block = find(store, number);

		if (part > len)
			part = (size_t)len;
		if (!block) {
			if (load(store, number, fresh) < 0)
				return EIO;
			block = fresh;
		}
		memcpy(to, block + skip, part);
		to += part;
		offset += part;
		len -= part;
	}
	return 0;
}

static errcode_t put(struct block_store *store, uint64_t offset, uint64_t len,
		     const void *data)
{
	const uint8_t *from = data;

	while (len > 0) {
		size_t skip = offset % BLOCK_STORE_BLOCK;
		size_t part = BLOCK_STORE_BLOCK - skip;
		uint8_t *block = hold(store, offset / BLOCK_STORE_BLOCK);

		if (!block)
			return EIO;
		if (part > len)
			part = (size_t)len;
		memcpy(block + skip, from, part);
		from += part;
		offset += part;
		len -= part;
	}
	return 0;
}

static errcode_t store_write(io_channel channel, unsigned long long block,
			     int count, const void *data)
{
	uint64_t offset, len;

	if (!range_of(channel, block, count, &offset, &len))
		return EXT2_ET_SHORT_WRITE;
	return put(channel->private_data, offset, len, data);
}

static errcode_t store_write_byte(io_channel channel, unsigned long offset,
				  int count, const void *data)
{
	struct block_store *store = channel->private_data;

	if (count < 0 || offset > store->bytes ||
	    (uint64_t)count > store->bytes - offset)
		return EXT2_ET_SHORT_WRITE;
	return put(store, offset, (uint64_t)count, data);
}

static errcode_t store_read32(io_channel channel, unsigned long block,
			      int count, void *data)
{
	return store_read(channel, block, count, data);
}

static errcode_t store_write32(io_channel channel, unsigned long block,
			       int count, const void *data)
{
	return store_write(channel, block, count, data);
}

static errcode_t store_zero(io_channel channel, unsigned long long block,
			    unsigned long long count)
{
	struct block_store *store = channel->private_data;
	uint64_t last = store->bytes / BLOCK_STORE_BLOCK;

	if (channel->block_size != (int)BLOCK_STORE_BLOCK || block > last ||
	    count > last - block)
		return EXT2_ET_UNIMPLEMENTED;
	for (uint64_t i = block; i < block + count; i++) {
		uint8_t *held = find(store, i);

		/* Never written is zero already: that is what keeps it fast. */
		if (held)
			memset(held, 0, BLOCK_STORE_BLOCK);
		else if (store->spilled && !hold(store, i))
			return EIO;
	}
	return 0;
}

static errcode_t store_set_blksize(io_channel channel, int size)
{
	channel->block_size = size;
	return 0;
}

static errcode_t store_flush(io_channel channel)
{
	return 0;
}

static errcode_t store_set_option(io_channel channel, const char *option,
				  const char *arg)
{
	return EXT2_ET_INVALID_ARGUMENT;
}

static errcode_t store_close(io_channel channel)
{
	if (--channel->refcount > 0)
		return 0;
	free(channel->name);
	free(channel);
	return 0;
}

static errcode_t store_open(const char *name, int flags, io_channel *channel);

static struct struct_io_manager manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "bawn block store",
	.open = store_open,
	.close = store_close,
	.set_blksize = store_set_blksize,
	.read_blk = store_read32,
	.write_blk = store_write32,
	.flush = store_flush,
	.write_byte = store_write_byte,
	.set_option = store_set_option,
	.read_blk64 = store_read,
	.write_blk64 = store_write,
	.zeroout = store_zero,
};

static errcode_t store_open(const char *name, int flags, io_channel *channel)
{
	io_channel fresh;

	if (!store_to_open)
		return EXT2_ET_BAD_DEVICE_NAME;
	fresh = xcalloc(1, sizeof(*fresh));
	fresh->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	fresh->manager = &manager;
	fresh->name = xstrdup(name);
	fresh->block_size = 1024;
	fresh->refcount = 1;
	fresh->private_data = store_to_open;
	store_to_open = NULL;
	*channel = fresh;
	return 0;
}

io_manager block_store_manager(struct block_store *store)
{
	store_to_open = store;
	return &manager;
}

static int flush_stage(struct block_store *store, struct error *err)
{
	size_t len = store->stage_len;

	store->stage_len = 0;
	if (len == 0 || store->fd < 0)
		return 0;
	return fileio_pwrite_all(store->fd, store->stage, len,
				 (off_t)store->stage_at, err);
}

int block_store_data(struct block_store *store, uint64_t offset,
		     const void *bytes, size_t len, struct error *err)
{
	uint64_t end = store->stage_at + store->stage_len;

	if (offset > store->bytes || len > store->bytes - offset)
		return error_set(err, 0, "file data lies outside the image");
	/* The rest of a file's last block is zero: neighbours join there. */
	if (offset < end || offset - end >= BLOCK_STORE_BLOCK ||
	    offset - store->stage_at + len > STAGE_BYTES) {
		if (flush_stage(store, err) < 0)
			return -1;
		if (len >= STAGE_BYTES / 2)
			return store->fd < 0
				       ? 0
				       : fileio_pwrite_all(store->fd, bytes,
							   len, (off_t)offset,
							   err);
		store->stage_at = offset;
		end = offset;
	}
	memset(store->stage + (end - store->stage_at), 0,
	       (size_t)(offset - end));
	memcpy(store->stage + (offset - store->stage_at), bytes, len);
	store->stage_len = (size_t)(offset - store->stage_at) + len;
	return 0;
}

/* Metadata that was there must not be written over what comes next. */
static void forget(struct block_store *store, uint64_t offset, uint64_t len)
{
	uint64_t last = (offset + len) / BLOCK_STORE_BLOCK;

	for (uint64_t i = offset / BLOCK_STORE_BLOCK; i < last; i++) {
		struct chunk *chunk = store->chunks[i / BLOCKS_PER_CHUNK];

		if (!chunk || !chunk->block[i % BLOCKS_PER_CHUNK])
			continue;
		free(chunk->block[i % BLOCKS_PER_CHUNK]);
		chunk->block[i % BLOCKS_PER_CHUNK] = NULL;
		store->held--;
	}
}

void block_store_punch(struct block_store *store, uint64_t offset, uint64_t len)
{
	forget(store, offset, len);
	if (flush_stage(store, &store->failure) < 0 || store->fd < 0)
		return;
	if (fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)offset, (off_t)len) == 0)
		return;
	memset(store->stage, 0, STAGE_BYTES);
	while (len > 0) {
		size_t part = len < STAGE_BYTES ? (size_t)len : STAGE_BYTES;

		if (fileio_pwrite_all(store->fd, store->stage, part,
				      (off_t)offset, &store->failure) < 0)
			return;
		offset += part;
		len -= part;
	}
}

int block_store_finish(struct block_store *store, struct error *err)
{
	if (flush_stage(store, err) < 0)
		return -1;
	if (store->fd < 0)
		return 0;
	if (store->failure.text[0] || write_held(store) < 0) {
		*err = store->failure;
		return -1;
	}
	if (ftruncate(store->fd, (off_t)store->bytes) < 0)
		return error_set(err, errno, "setting the image's length");
	return 0;
}
