/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_writer.h - a new ext4 image, filled entry by entry, without a mount
 *
 * The names live in memory; file data goes straight to the image as it comes;
 * directories are written at the end, when all their names are known, with an
 * index where they need one. So a name may come before its parent, come twice
 * (the later one wins), and a directory of 100,000 names costs no scanning.
 * Paths are as tar_path_normalise() writes them; "" is the root.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct error;
struct ext4_writer;

#define EXT4_WRITER_AUTO_BYTES (16ull << 30) /* sparse: the holes are free */
#define EXT4_WRITER_MIN_BYTES (16ull << 20)
#define EXT4_WRITER_MAX_BYTES (1ull << 40)

struct ext4_attr {
	uint32_t mode; /* type and permissions */
	uint32_t uid, gid;
	struct timespec atime, mtime, ctime;
	uint32_t device_major, device_minor;
};

struct ext4_xattr {
	const char *name;
	const void *value;
	size_t len;
};

struct ext4_entry {
	const char *path;
	struct ext4_attr attr;
	const char *target; /* of a symbolic link */
	const struct ext4_xattr *xattrs;
	size_t xattr_count;
};

struct ext4_stats {
	uint64_t files;  /* inodes that entries made, links not counted twice */
	uint64_t bytes;  /* content of regular files */
	uint64_t blocks; /* of 4 KiB, in use */
};

/* fd as in block_store_new(). bytes is rounded down to whole blocks. */
struct ext4_writer *ext4_writer_new(int fd, uint64_t bytes, const char *label,
				    struct error *err);
void ext4_writer_free(struct ext4_writer *writer);

/*
 * Before each layer of an image that has several. From the first call on,
 * names behind symbolic links go where these lead, within the image.
 */
void ext4_writer_begin_layer(struct ext4_writer *writer);
/*
 * What a lower layer has at path goes away; what the current one has put there
 * stays. Nothing there is fine.
 */
int ext4_writer_whiteout(struct ext4_writer *writer, const char *path,
			 struct error *err);
/* The same for all in the folder of path, whose last part does not matter. */
int ext4_writer_opaque(struct ext4_writer *writer, const char *path,
		       struct error *err);

/*
 * A directory, symbolic link, device, FIFO, socket, or an empty regular file.
 * An existing directory only takes the new attributes.
 */
int ext4_writer_add(struct ext4_writer *writer, const struct ext4_entry *entry,
		    struct error *err);
/* path and target must be different names; target must exist, no folder. */
int ext4_writer_link(struct ext4_writer *writer, const char *path,
		     const char *target, struct error *err);

enum ext4_layout {
	EXT4_DENSE,  /* every byte will come: one run is allocated at once */
	EXT4_SPARSE, /* what does not come is a hole */
};

/* A regular file: begin, data in rising order, end. One at a time. */
int ext4_writer_file_begin(struct ext4_writer *writer,
			   const struct ext4_entry *entry, uint64_t size,
			   enum ext4_layout layout, struct error *err);
int ext4_writer_file_data(struct ext4_writer *writer, uint64_t offset,
			  const void *bytes, size_t len, struct error *err);
int ext4_writer_file_end(struct ext4_writer *writer, struct error *err);

/* Writes directories and metadata. Only ext4_writer_free() may follow. */
int ext4_writer_finish(struct ext4_writer *writer, struct ext4_stats *stats,
		       struct error *err);
