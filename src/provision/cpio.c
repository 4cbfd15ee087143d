/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpio.c - writes a newc archive, as the kernel takes for an initramfs
 *
 * Times are zero: the same content gives the same bytes.
 */
#include "provision/cpio.h"

#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"

#define NAME_MAX_BYTES 4096
#define FILE_MAX_BYTES 0xffffffffu

void cpio_init(struct cpio *cpio, struct buffer *out)
{
	*cpio = (struct cpio){ .out = out, .next_ino = 1 };
}

static int pad(struct buffer *out)
{
	static const char zeroes[4];

	return buffer_append(out, zeroes, (4 - out->len % 4) % 4);
}

int cpio_add(struct cpio *cpio, const struct cpio_entry *entry,
	     struct error *err)
{
	size_t name_size = strlen(entry->name) + 1;
	unsigned links = S_ISDIR(entry->mode) ? 2 : 1;

	if (name_size > NAME_MAX_BYTES || entry->len > FILE_MAX_BYTES)
		return error_set(err, 0, "%.60s: too large for an initramfs",
				 entry->name);
	/* magic ino mode uid gid nlink mtime size dev(2) rdev(2) name check */
	if (buffer_printf(cpio->out,
			  "070701%08X%08X%08X%08X%08X%08X%08X"
			  "%08X%08X%08X%08X%08X%08X",
			  cpio->next_ino++, (unsigned)entry->mode, 0u, 0u,
			  links, 0u, (unsigned)entry->len, 0u, 0u,
			  entry->device_major, entry->device_minor,
			  (unsigned)name_size, 0u) < 0 ||
	    buffer_append(cpio->out, entry->name, name_size) < 0 ||
	    pad(cpio->out) < 0 ||
	    (entry->len &&
	     buffer_append(cpio->out, entry->content, entry->len) < 0) ||
	    pad(cpio->out) < 0)
		return error_set(err, 0, "the initramfs is too large");
	return 0;
}

int cpio_finish(struct cpio *cpio, struct error *err)
{
	struct cpio_entry trailer = { .name = "TRAILER!!!" };

	return cpio_add(cpio, &trailer, err);
}
