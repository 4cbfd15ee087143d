/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - the guest's kernel and its initramfs
 *
 * cache/kernels/KEY/ holds vmlinux (unpacked), modules, and kernel.json (where
 * it came from, sha256 of each file); cache/initramfs/KEY.cpio is made from the
 * modules and bawn-init.
 */
#pragma once

struct error;
struct progress;

struct kernel {
	char *key;           /* names the kernel's content: release + digest */
	char *release;       /* "6.1.0-54-cloud-amd64" */
	char *source;        /* "Debian package 6.1.190-1", "host /boot/…" */
	char *vmlinux;       /* absolute path */
	char *initramfs;     /* absolute path */
	char *initramfs_key; /* changes with bawn-init and the module list */
	const char *flaw;    /* kernel_flaw() of it; static */
};

/*
 * Finds the kernel in the cache; otherwise fetches Debian's package; where
 * that cannot be had, takes the host's own. One with a flaw serves only where
 * no other can be had, which is tried once a day. Safe against a second process
 * that does the same at the same time.
 */
int kernel_ensure(const struct progress *progress, struct kernel *kernel,
		  struct error *err);
/* As kernel_ensure(), but never fetches: -1 with code ENOENT if missing. */
int kernel_find(struct kernel *kernel, struct error *err);
void kernel_release(struct kernel *kernel);
