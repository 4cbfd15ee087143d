/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_image.c - a guest's memory into a file
 *
 * /proc/PID/pagemap tells a page of the file from one of QEMU's own; the latter
 * are read by process_vm_readv(). Both are allowed to a parent whose Landlock
 * domain is above QEMU's and who owns its user namespace, also where Yama
 * restricts ptrace to descendants.
 */
#include "supervisor/ram_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define PAGE 4096ull
#define PIECE_PAGES 256ull /* that are copied at once */
#define MAPS_BYTES_MAX (4u << 20)

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define PAGEMAP_FILE (UINT64_C(1) << 61)

/* Pages of one piece that follow each other, in QEMU and in the file. */
struct run {
	uint64_t page, count;
};

struct piece {
	struct run runs[PIECE_PAGES];
	struct iovec remote[PIECE_PAGES];
	size_t count, pages;
};

static int open_proc(pid_t pid, const char *name, struct error *err)
{
	char path[64];
	int fd;

	text_format(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_set(err, errno, "%s", path) : fd;
}

static int find_map(struct ram_image *image, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MAPS_BYTES_MAX);
	AUTO_CLOSE int fd = open_proc(image->pid, "maps", err);

	if (fd < 0 || fileio_read_fd(fd, &text, err) < 0)
		return -1;
	return ram_map_parse((const char *)text.data, text.len, image->bytes,
			     &image->map, err);
}

int ram_image_begin(struct ram_image *image, pid_t pid, int base, int out,
		    uint64_t bytes, struct error *err)
{
	*image = (struct ram_image){
		.pid = pid, .base = base, .out = out, .bytes = bytes
	};
	if (find_map(image, err) < 0)
		return -1;
	if (ftruncate(out, (off_t)bytes) < 0)
		return error_set(err, errno, "memory file");
	image->taken = xcalloc(1, bytes / PAGE / 8 + 1);
	image->scratch = xmalloc(PIECE_PAGES * PAGE);
	return 0;
}

static bool is_taken(const struct ram_image *image, uint64_t page)
{
	return image->taken[page / 8] >> page % 8 & 1;
}

static int write_piece(struct ram_image *image, struct piece *piece,
		       struct error *err)
{
	struct iovec local = { image->scratch, piece->pages * PAGE };
	size_t at = 0;
	ssize_t n;

	if (!piece->count)
		return 0;
	n = process_vm_readv(image->pid, &local, 1, piece->remote, piece->count,
			     0);
	if (n != (ssize_t)local.iov_len)
		return error_set(err, n < 0 ? errno : EFAULT,
				 "reading the guest's memory");
	for (size_t i = 0; i < piece->count; i++) {
		size_t len = piece->runs[i].count * PAGE;

		if (fileio_pwrite_all(image->out, image->scratch + at, len,
				      (off_t)(piece->runs[i].page * PAGE),
				      err) < 0)
			return -1;
		at += len;
	}
	image->private += at;
	piece->count = piece->pages = 0;
	return 0;
}

static void add_page(struct ram_image *image, struct piece *piece,
		     uint64_t page, uint64_t address)
{
	struct run *last = piece->count ? &piece->runs[piece->count - 1] : NULL;

	image->taken[page / 8] |= (uint8_t)(1 << page % 8);
	piece->pages++;
	if (last && last->page + last->count == page) {
		last->count++;
		piece->remote[piece->count - 1].iov_len += PAGE;
		return;
	}
	piece->runs[piece->count] = (struct run){ page, 1 };
	piece->remote[piece->count++] =
		(struct iovec){ (void *)(uintptr_t)address, PAGE };
}

static int take_part(struct ram_image *image, int pagemap,
		     const struct ram_map_part *part, struct error *err)
{
	static struct piece piece;
	uint64_t entries[PIECE_PAGES];

	piece.count = piece.pages = 0;
	for (uint64_t at = 0; at < part->len; at += PIECE_PAGES * PAGE) {
		uint64_t left = (part->len - at) / PAGE;
		size_t count = left < PIECE_PAGES ? left : PIECE_PAGES;
		off_t place = (off_t)((part->address + at) / PAGE * 8);

		if (pread(pagemap, entries, count * 8, place) !=
		    (ssize_t)(count * 8))
			return error_set(err, errno, "pagemap");
		for (size_t i = 0; i < count; i++) {
			bool own = (entries[i] & PAGEMAP_SWAPPED) ||
				   ((entries[i] & PAGEMAP_PRESENT) &&
				    !(entries[i] & PAGEMAP_FILE));

			if (!own)
				continue;
			add_page(image, &piece, (part->offset + at) / PAGE + i,
				 part->address + at + i * PAGE);
			if (piece.pages == PIECE_PAGES &&
			    write_piece(image, &piece, err) < 0)
				return -1;
		}
	}
	return write_piece(image, &piece, err);
}

int ram_image_take(struct ram_image *image, struct error *err)
{
	AUTO_CLOSE int pagemap = open_proc(image->pid, "pagemap", err);

	if (pagemap < 0)
		return -1;
	for (unsigned i = 0; i < image->map.count; i++) {
		if (take_part(image, pagemap, &image->map.parts[i], err) < 0)
			return -1;
	}
	return 0;
}

static int copy_base(struct ram_image *image, uint64_t from, uint64_t to,
		     struct error *err)
{
	while (from < to) {
		size_t len = to - from < PIECE_PAGES * PAGE
				     ? to - from
				     : PIECE_PAGES * PAGE;
		ssize_t n =
			pread(image->base, image->scratch, len, (off_t)from);

		if (n <= 0)
			return error_set(err, n < 0 ? errno : EIO,
					 "the old memory file");
		if (fileio_pwrite_all(image->out, image->scratch, (size_t)n,
				      (off_t)from, err) < 0)
			return -1;
		from += (uint64_t)n;
	}
	return 0;
}

/* The pages of [from, to) that QEMU had not for itself. */
static int fill(struct ram_image *image, uint64_t from, uint64_t to,
		struct error *err)
{
	uint64_t page = from / PAGE, end = (to + PAGE - 1) / PAGE;

	while (page < end) {
		uint64_t first;

		while (page < end && is_taken(image, page))
			page++;
		first = page;
		while (page < end && !is_taken(image, page))
			page++;
		if (copy_base(image, first * PAGE, page * PAGE, err) < 0)
			return -1;
	}
	return 0;
}

int ram_image_more(struct ram_image *image, uint64_t budget, struct error *err)
{
	uint64_t done = 0;

	while (done < budget && image->at < image->bytes) {
		off_t data = lseek(image->base, (off_t)image->at, SEEK_DATA);
		off_t hole;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < 0)
			return error_set(err, errno, "the old memory file");
		hole = lseek(image->base, data, SEEK_HOLE);
		if (hole < 0)
			return error_set(err, errno, "the old memory file");
		if ((uint64_t)(hole - data) > budget - done)
			hole = data + (off_t)((budget - done + PAGE - 1) /
					      PAGE * PAGE);
		if ((uint64_t)hole > image->bytes)
			hole = (off_t)image->bytes;
		if (fill(image, (uint64_t)data, (uint64_t)hole, err) < 0)
			return -1;
		done += (uint64_t)(hole - data);
		image->at = (uint64_t)hole;
	}
	return image->at < image->bytes;
}

void ram_image_release(struct ram_image *image)
{
	free(image->taken);
	free(image->scratch);
	image->taken = NULL;
	image->scratch = NULL;
}
