/* SPDX-License-Identifier: Apache-2.0 */
/*
 * initramfs.h - bawn-init and the modules, as one archive
 *
 * /init, /modules/NAME.ko, /modules.order (file names in load order),
 * /ca-certificates.crt (whom this host trusts), empty folders /dev /proc /sys
 * /newroot, and /dev/console. Not compressed: it is read from the page cache,
 * and unpacking would cost the guest time.
 */
#pragma once

#include <stddef.h>

struct error;

/*
 * Finds cache/initramfs/KEY.cpio for this kernel (folder: where it lies in the
 * cache; kernel_key names it) and the present bawn-init, or makes it. path and
 * key are malloc'd.
 */
int initramfs_ensure(const char *folder, const char *kernel_key, char **path,
		     char **key, struct error *err);
