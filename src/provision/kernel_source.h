/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_source.h - where a guest kernel can come from
 */
#pragma once

struct error;
struct progress;

struct kernel_raw {
	char *vmlinuz; /* as packed by its maker, absolute path */
	char *modules; /* its /lib/modules/RELEASE */
	char *release;
	char *describe; /* "Debian package 6.1.190-1", "host /boot/…" */
};

struct kernel_source {
	const char *name; /* value of BAWN_KERNEL_SOURCE */
	/* folder_fd is an empty private folder that lives until the end. */
	int (*get)(int folder_fd, const struct progress *progress,
		   struct kernel_raw *raw, struct error *err);
};

/* In the order of preference; the last row has no name. */
extern const struct kernel_source kernel_sources[];

void kernel_raw_release(struct kernel_raw *raw);
