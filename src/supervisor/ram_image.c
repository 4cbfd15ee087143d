/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_image.c - a guest's memory into a file
 *
 * /proc/PID/pagemap tells a page of the file from one of QEMU's own; the latter
 * are read by process_vm_readv(). Both are allowed to a parent whose Landlock
 * domain is above QEMU's and who owns its user namespace, also where Yama
 * restricts ptrace to descendants.
 *
 * ram_write.c puts them into the new file.
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
#include "supervisor/ram_image_internal.h"
#include "supervisor/ram_map.h"
#include "supervisor/ram_scan.h"

#define MAPS_BYTES_MAX (4u << 20)

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
			     &image->address, err);
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
	image->scratch = xmalloc(RAM_PIECE_BYTES);
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

int ram_image_read(const struct ram_image *image, const struct iovec *local,
		   const struct iovec *remote, int count, struct error *err)
{
	size_t total = 0;
	ssize_t n;

	for (int i = 0; i < count; i++)
		total += local[i].iov_len;
	n = process_vm_readv(image->pid, local, (size_t)count, remote,
			     (size_t)count, 0);
	if (n != (ssize_t)total)
		return error_set(err, n < 0 ? errno : EFAULT,
				 "reading the guest's memory");
	return 0;
}

static void note_taken(struct ram_image *image, uint64_t place, uint64_t len)
{
	for (uint64_t page = place / RAM_PAGE; page < (place + len) / RAM_PAGE;
	     page++)
		image->taken[page / 8] |= (uint8_t)(1 << page % 8);
}

/* Together one piece at most. */
static int take_runs(struct ram_image *image, const struct ram_run *runs,
		     int count, struct error *err)
{
	struct iovec local[RAM_SCAN_PAGES], remote[RAM_SCAN_PAGES];
	uint64_t total = 0;

	for (int i = 0; i < count; i++) {
		uint64_t place = runs[i].address - image->address;
		size_t len = runs[i].len;

		note_taken(image, place, len);
		remote[i] = (struct iovec){ (void *)(uintptr_t)runs[i].address,
					    len };
		local[i] = (struct iovec){ image->kept + place, len };
		total += len;
	}
	image->private += total;
	return image->kept ? ram_image_read(image, local, remote, count, err)
			   : 0;
}

static int take_from(struct ram_image *image, struct ram_scan *scan,
		     uint64_t *from, uint64_t budget, struct error *err)
{
	struct ram_run runs[RAM_SCAN_PAGES];
	uint64_t begin = image->private, at = image->address + *from;

	while (*from < image->bytes) {
		int count;

		if (image->private - begin >= budget)
			return 1;
		count = ram_scan_next(scan, &at, image->address + image->bytes,
				      runs, err);
		if (count < 0 ||
		    (count && take_runs(image, runs, count, err) < 0))
			return -1;
		*from = at - image->address;
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
