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

/* How a kernel of Debian's is described, before its version. */
#define KERNEL_DEBIAN "Debian package "

struct kernel_place {
	int folder_fd;    /* empty, private, lives until the end */
	const char *have; /* release that need not be fetched again, or NULL */
	const struct progress *progress;
};

struct kernel_source {
	const char *name; /* value of BAWN_KERNEL_SOURCE */
	int (*get)(const struct kernel_place *place, struct kernel_raw *raw,
		   struct error *err);
};

/* In the order of preference; the last row has no name. */
extern const struct kernel_source kernel_sources[];

void kernel_raw_release(struct kernel_raw *raw);
