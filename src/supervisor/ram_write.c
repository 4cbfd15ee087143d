/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_write.c - the new file of a guest's memory, from its beginning to its end
 *
 * QEMU's pages and those of the old file lie between each other. They are
 * written in the order of the file, as long runs: one after the other, the
 * second kind would be written into the gaps of the first, while the disk
 * already has these, which costs twice the time.
 *
 * Pages of nothing but zeros are not written: the new file begins as a hole.
 * What is written is summed up on its way, so that nobody reads it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "state/snapshot.h"
#include "supervisor/ram_image_internal.h"

#define FLUSH_BYTES (16u << 20)

/* Pages that follow each other in the file, wherever they lie in memory. */
struct run {
	struct iovec parts[RAM_SCAN_PAGES];
	int count;
	uint64_t place; /* of the first */
	uint64_t bytes;
};

static bool is_taken(const struct ram_image *image, uint64_t page)
{
	return image->taken[page / 8] >> page % 8 & 1;
}

/* What of the old file is no hole, from `at` on. */
static int find_data(struct ram_image *image, uint64_t at, struct error *err)
{
	off_t data, hole;

	if (at < image->data_end)
		return 0;
	data = lseek(image->base, (off_t)at, SEEK_DATA);
	if (data < 0 && errno == ENXIO) {
		image->data = image->data_end = image->bytes;
		return 0;
	}
	hole = data < 0 ? -1 : lseek(image->base, data, SEEK_HOLE);
	if (hole < 0)
		return error_set(err, errno, "the old memory file");
	/* Whole pages: a file system's blocks may be smaller. */
	image->data = (uint64_t)data / RAM_PAGE * RAM_PAGE;
	image->data_end = ((uint64_t)hole + RAM_PAGE - 1) / RAM_PAGE * RAM_PAGE;
	return 0;
}

static int read_base(struct ram_image *image, uint64_t from, uint64_t to,
		     struct error *err)
{
	ssize_t n = pread(image->base, image->scratch + (from - image->at),
			  to - from, (off_t)from);

	if (n < (ssize_t)(to - from))
		return error_set(err, n < 0 ? errno : EIO,
				 "the old memory file");
	return 0;
}

/* The old file's pages of one piece into scratch; `has` tells which. */
static int gather_base(struct ram_image *image, uint64_t end, bool *has,
		       struct error *err)
{
	uint64_t at = image->at;

	while (at < end) {
		uint64_t first, last;

		if (find_data(image, at, err) < 0)
			return -1;
		first = image->data > at ? image->data : at;
		last = image->data_end < end ? image->data_end : end;
		/* not what the guest wrote over, as far as that is one run */
		while (first < last && is_taken(image, first / RAM_PAGE))
			first += RAM_PAGE;
		if (first >= last) {
			at = image->data_end > at ? image->data_end : end;
			continue;
		}
		if (read_base(image, first, last, err) < 0)
			return -1;
		for (at = first; at < last; at += RAM_PAGE)
			has[(at - image->at) / RAM_PAGE] = true;
	}
	return 0;
}

/* True: it follows the last one in memory, too. */
static bool extends(const struct iovec *parts, int count, const void *page)
{
	const struct iovec *last;

	if (!count)
		return false;
	last = &parts[count - 1];
	return (const unsigned char *)last->iov_base + last->iov_len == page;
}

/* QEMU's pages of one piece over those of the old file. */
static int gather_taken(struct ram_image *image, uint64_t end,
			struct error *err)
{
	struct iovec local[RAM_SCAN_PAGES], remote[RAM_SCAN_PAGES];
	int count = 0;

	for (uint64_t at = image->at; at < end; at += RAM_PAGE) {
		unsigned char *here = image->scratch + (at - image->at);
		void *there = (void *)(uintptr_t)(image->address + at);

		if (!is_taken(image, at / RAM_PAGE))
			continue;
		if (extends(local, count, here) &&
		    extends(remote, count, there)) {
			local[count - 1].iov_len += RAM_PAGE;
			remote[count - 1].iov_len += RAM_PAGE;
			continue;
		}
		local[count] = (struct iovec){ here, RAM_PAGE };
		remote[count++] = (struct iovec){ there, RAM_PAGE };
	}
	return count ? ram_image_read(image, local, remote, count, err) : 0;
}

static int write_run(struct ram_image *image, struct run *run,
		     struct error *err)
{
	uint64_t place = run->place;
	int count = run->count;

	run->count = 0;
	if (!count || pwritev(image->out, run->parts, count, (off_t)place) ==
			      (ssize_t)run->bytes)
		return 0;
	/* A part of it, or none: what is wrong is said by the next try. */
	for (int i = 0; i < count; i++) {
		const struct iovec *part = &run->parts[i];

		if (fileio_pwrite_all(image->out, part->iov_base, part->iov_len,
				      (off_t)place, err) < 0)
			return -1;
		place += part->iov_len;
	}
	return 0;
}

static void add_page(struct run *run, unsigned char *page, uint64_t place)
{
	if (!run->count) {
		run->place = place;
		run->bytes = 0;
	}
	run->bytes += RAM_PAGE;
	if (extends(run->parts, run->count, page))
		run->parts[run->count - 1].iov_len += RAM_PAGE;
	else
		run->parts[run->count++] = (struct iovec){ page, RAM_PAGE };
}

static int write_piece(struct ram_image *image, uint64_t end, const bool *has,
		       uint64_t *done, struct error *err)
{
	struct run run;

	run.count = 0;
	for (uint64_t at = image->at; at < end; at += RAM_PAGE) {
		uint64_t number = (at - image->at) / RAM_PAGE, sum = 0;
		bool taken = is_taken(image, at / RAM_PAGE);
		unsigned char *page =
			taken && image->kept
				? image->kept + at
				: image->scratch + number * RAM_PAGE;

		if (taken || has[number]) {
			sum = snapshot_page_sum(page, at / RAM_PAGE);
			*done += RAM_PAGE;
		}
		image->sum += sum;
		if (sum)
			add_page(&run, page, at);
		else if (write_run(image, &run, err) < 0)
			return -1;
	}
	return write_run(image, &run, err);
}

/* The disk is slow enough that it should not wait for the last byte. */
static void flush_some(struct ram_image *image)
{
	if (image->at - image->flushed < FLUSH_BYTES)
		return;
	(void)sync_file_range(image->out, (off_t)image->flushed,
			      (off_t)(image->at - image->flushed),
			      SYNC_FILE_RANGE_WRITE);
	image->flushed = image->at;
}

/* *done counts the bytes that were looked at. */
static int pass_piece(struct ram_image *image, uint64_t *done,
		      struct error *err)
{
	uint64_t left = image->bytes - image->at, before = *done;
	uint64_t end =
		image->at + (left < RAM_PIECE_BYTES ? left : RAM_PIECE_BYTES);
	bool has[RAM_SCAN_PAGES] = { false };

	if (gather_base(image, end, has, err) < 0 ||
	    (!image->kept && gather_taken(image, end, err) < 0) ||
	    write_piece(image, end, has, done, err) < 0)
		return -1;
	if (image->kept && *done > before) /* not needed twice */
		(void)madvise(image->kept + image->at, end - image->at,
			      MADV_DONTNEED);
	image->at = end;
	flush_some(image);
	return 0;
}

int ram_image_more(struct ram_image *image, uint64_t budget, struct error *err)
{
	uint64_t done = 0;

	while (done < budget && image->at < image->bytes)
		if (pass_piece(image, &done, err) < 0)
			return -1;
	return image->at < image->bytes;
}
