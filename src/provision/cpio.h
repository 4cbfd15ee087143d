/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpio.h - writes a newc archive, as the kernel takes for an initramfs
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buffer;
struct error;

struct cpio {
	struct buffer *out; /* borrowed */
	uint32_t next_ino;
};

struct cpio_entry {
	const char *name; /* relative, no leading slash */
	mode_t mode;      /* type and permissions; owner is always root */
	unsigned device_major, device_minor;
	const void *content;
	size_t len;
};

void cpio_init(struct cpio *cpio, struct buffer *out);
/* -1 when the buffer's maximum is reached or the name is too long. */
int cpio_add(struct cpio *cpio, const struct cpio_entry *entry,
	     struct error *err);
int cpio_finish(struct cpio *cpio, struct error *err);
