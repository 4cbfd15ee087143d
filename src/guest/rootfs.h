/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rootfs.h - from the initramfs to the template's disk
 *
 * Used once, in this order. A failure here ends the boot.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

#define ROOTFS_DEVICE "/dev/vda"
#define ROOTFS_SUPERBLOCK_BYTES 1024
#define ROOTFS_SUPERBLOCK_OFFSET 1024

struct rootfs_size {
	uint64_t blocks;
	uint32_t block_bytes;
};

/* Reads the two numbers out of an ext4 superblock; -1 when it is none. Pure. */
int rootfs_parse_superblock(const uint8_t bytes[ROOTFS_SUPERBLOCK_BYTES],
			    struct rootfs_size *size);

/* /proc, /sys and /dev of the initramfs. */
int rootfs_mount_early(struct error *err);
/* Waits for the disk, mounts it on /newroot, grows it to the device's size. */
int rootfs_mount_disk(unsigned timeout_ms, struct error *err);
/*
 * Makes the disk the root of this process and of all to come, and empties the
 * initramfs. The running binary stays: /proc/self/exe can still be opened and
 * executed, which is how relays are started.
 */
int rootfs_switch(struct error *err);
/* The rest of the mounts and device links that programs expect. */
int rootfs_mount_late(struct error *err);
