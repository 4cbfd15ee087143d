/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_image.c - a guest's memory into a file
 *
 * /proc/PID/pagemap tells a page of the file from one of QEMU's own; the latter
 * are read by process_vm_readv(). Both are allowed to a parent whose Landlock
 * domain is above QEMU's and who owns its user namespace, also where Yama
 * restricts ptrace to descendants.
 *
 * Pages of nothing but zeros are not written: the new file begins as a hole.
 * What is written is summed up on its way, so that nobody reads it again.
 */
#include "supervisor/ram_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/snapshot.h"
#include "supervisor/ram_scan.h"

#define PIECE_BYTES (RAM_SCAN_PAGES * RAM_PAGE) /* that are copied at once */
#define MAPS_BYTES_MAX (4u << 20)
#define FLUSH_BYTES (16u << 20)

static int find_map(struct ram_image *image, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MAPS_BYTES_MAX);
	AUTO_CLOSE int fd = -1;
	char path[64];

	text_format(path, sizeof(path), "/proc/%d/maps", (int)image->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "%s", path);
	if (fileio_read_fd(fd, &text, err) < 0)
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
	image->taken = xcalloc(1, bytes / RAM_PAGE / 8 + 1);
	image->scratch = xmalloc(PIECE_BYTES);
	return 0;
}

int ram_image_through_memory(struct ram_image *image, struct error *err)
{
	void *kept = mmap(NULL, image->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (kept == MAP_FAILED)
		return error_set(err, errno, "memory for the snapshot");
	image->kept = kept;
	return 0;
}

static bool is_taken(const struct ram_image *image, uint64_t page)
{
	return image->taken[page / 8] >> page % 8 & 1;
}

/* The disk is slow enough that it should not wait for the last byte. */
static void flush_some(struct ram_image *image, uint64_t up_to)
{
	if (up_to < image->flushed)
		image->flushed = up_to; /* the second part begins */
	if (up_to - image->flushed < FLUSH_BYTES)
		return;
	(void)sync_file_range(image->out, (off_t)image->flushed,
			      (off_t)(up_to - image->flushed),
			      SYNC_FILE_RANGE_WRITE);
	image->flushed = up_to;
}

/* Whole pages to their place. */
static int write_pages(struct ram_image *image, const unsigned char *bytes,
		       uint64_t place, uint64_t len, struct error *err)
{
	uint64_t begin = 0; /* of what is not zero and not written yet */

	for (uint64_t at = 0; at < len; at += RAM_PAGE) {
		uint64_t sum =
			snapshot_page_sum(bytes + at, (place + at) / RAM_PAGE);

		image->sum += sum;
		if (sum)
			continue;
		if (at > begin &&
		    fileio_pwrite_all(image->out, bytes + begin, at - begin,
				      (off_t)(place + begin), err) < 0)
			return -1;
		begin = at + RAM_PAGE;
	}
	if (begin < len &&
	    fileio_pwrite_all(image->out, bytes + begin, len - begin,
			      (off_t)(place + begin), err) < 0)
		return -1;
	return 0;
}

static void note_taken(struct ram_image *image, uint64_t place, uint64_t len)
{
	for (uint64_t page = place / RAM_PAGE; page < (place + len) / RAM_PAGE;
	     page++)
		image->taken[page / 8] |= (uint8_t)(1 << page % 8);
}

/* Runs of one part, together one piece at most. */
static int take_runs(struct ram_image *image, const struct ram_map_part *part,
		     const struct ram_run *runs, int count, struct error *err)
{
	struct iovec local[RAM_SCAN_PAGES], remote[RAM_SCAN_PAGES];
	uint64_t total = 0, at = 0;
	ssize_t n;

	for (int i = 0; i < count; i++) {
		uint64_t place = runs[i].address - part->address + part->offset;
		size_t len = runs[i].len;

		note_taken(image, place, len);
		remote[i] = (struct iovec){ (void *)(uintptr_t)runs[i].address,
					    len };
		local[i] = (struct iovec){ image->kept ? image->kept + place
						       : image->scratch + total,
					   len };
		total += len;
	}
	n = process_vm_readv(image->pid, local, (size_t)count, remote,
			     (size_t)count, 0);
	if (n != (ssize_t)total)
		return error_set(err, n < 0 ? errno : EFAULT,
				 "reading the guest's memory");
	image->private += total;
	for (int i = 0; i < count && !image->kept; i++) {
		if (write_pages(image, image->scratch + at,
				runs[i].address - part->address + part->offset,
				runs[i].len, err) < 0)
			return -1;
		at += runs[i].len;
	}
	return 0;
}

static int take_part(struct ram_image *image, struct ram_scan *scan,
		     const struct ram_map_part *part, uint64_t *from,
		     struct error *err)
{
	struct ram_run runs[RAM_SCAN_PAGES];
	uint64_t at = part->address + (*from - part->offset);
	int count =
		ram_scan_next(scan, &at, part->address + part->len, runs, err);

	if (count < 0 ||
	    (count && take_runs(image, part, runs, count, err) < 0))
		return -1;
	*from = at - part->address + part->offset;
	return 0;
}

static int take_from(struct ram_image *image, struct ram_scan *scan,
		     uint64_t *from, uint64_t budget, struct error *err)
{
	uint64_t begin = image->private;

	for (unsigned i = 0; i < image->map.count; i++) {
		const struct ram_map_part *part = &image->map.parts[i];

		while (*from >= part->offset &&
		       *from < part->offset + part->len) {
			if (image->private - begin >= budget)
				return 1;
			if (take_part(image, scan, part, from, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int take_some(struct ram_image *image, uint64_t *from, uint64_t budget,
		     struct error *err)
{
	struct ram_scan scan;
	int result;

	if (ram_scan_open(&scan, image->pid, err) < 0)
		return -1;
	result = take_from(image, &scan, from, budget, err);
	ram_scan_close(&scan);
	return result;
}

int ram_image_ahead(struct ram_image *image, uint64_t budget, struct error *err)
{
	return take_some(image, &image->ahead, budget, err);
}

int ram_image_take(struct ram_image *image, struct error *err)
{
	uint64_t from = 0;

	image->private = 0;
	memset(image->taken, 0, image->bytes / RAM_PAGE / 8 + 1);
	return take_some(image, &from, UINT64_MAX, err) < 0 ? -1 : 0;
}

static int copy_base(struct ram_image *image, uint64_t from, uint64_t to,
		     struct error *err)
{
	while (from < to) {
		size_t len = to - from < PIECE_BYTES ? to - from : PIECE_BYTES;
		ssize_t n =
			pread(image->base, image->scratch, len, (off_t)from);

		if (n < (ssize_t)len)
			return error_set(err, n < 0 ? errno : EIO,
					 "the old memory file");
		if (write_pages(image, image->scratch, from, len, err) < 0)
			return -1;
		from += len;
	}
	return 0;
}

/* The pages of [from, to) that QEMU had not for itself. */
static int fill(struct ram_image *image, uint64_t from, uint64_t to,
		struct error *err)
{
	uint64_t page = from / RAM_PAGE, end = (to + RAM_PAGE - 1) / RAM_PAGE;

	while (page < end) {
		uint64_t first;

		while (page < end && is_taken(image, page))
			page++;
		first = page;
		while (page < end && !is_taken(image, page))
			page++;
		if (copy_base(image, first * RAM_PAGE, page * RAM_PAGE, err) <
		    0)
			return -1;
	}
	return 0;
}

/* QEMU's pages of one piece to the disk; *done counts them. */
static int move_piece(struct ram_image *image, uint64_t *done,
		      struct error *err)
{
	uint64_t page = image->moved, pages = image->bytes / RAM_PAGE;
	uint64_t end =
		page + RAM_SCAN_PAGES < pages ? page + RAM_SCAN_PAGES : pages;
	uint64_t before = *done;

	while (page < end) {
		uint64_t first = page;

		while (page < end && is_taken(image, page))
			page++;
		if (page > first &&
		    write_pages(image, image->kept + first * RAM_PAGE,
				first * RAM_PAGE, (page - first) * RAM_PAGE,
				err) < 0)
			return -1;
		*done += (page - first) * RAM_PAGE;
		while (page < end && !is_taken(image, page))
			page++;
	}
	if (*done > before) /* not needed twice */
		(void)madvise(image->kept + image->moved * RAM_PAGE,
			      (end - image->moved) * RAM_PAGE, MADV_DONTNEED);
	image->moved = end;
	flush_some(image, end * RAM_PAGE);
	return 0;
}

static int move_on(struct ram_image *image, uint64_t budget, uint64_t *done,
		   struct error *err)
{
	while (image->kept && image->moved < image->bytes / RAM_PAGE &&
	       *done < budget)
		if (move_piece(image, done, err) < 0)
			return -1;
	return 0;
}

int ram_image_more(struct ram_image *image, uint64_t budget, struct error *err)
{
	uint64_t done = 0;

	if (move_on(image, budget, &done, err) < 0)
		return -1;
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
		/* Whole pages, and none twice: they are summed up. */
		data -= data % (off_t)RAM_PAGE;
		if ((uint64_t)(hole - data) > budget - done)
			hole = data + (off_t)(budget - done);
		hole += (off_t)(-(uint64_t)hole % RAM_PAGE);
		if ((uint64_t)hole > image->bytes)
			hole = (off_t)image->bytes;
		if (fill(image, (uint64_t)data, (uint64_t)hole, err) < 0)
			return -1;
		done += (uint64_t)(hole - data);
		image->at = (uint64_t)hole;
		flush_some(image, image->at);
	}
	return image->at < image->bytes;
}

void ram_image_release(struct ram_image *image)
{
	if (image->kept)
		munmap(image->kept, image->bytes);
	free(image->taken);
	free(image->scratch);
	image->kept = NULL;
	image->taken = NULL;
	image->scratch = NULL;
}
