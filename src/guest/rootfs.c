/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rootfs.c - from the initramfs to the template's disk
 */
#include "guest/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"

#ifndef EXT4_IOC_RESIZE_FS
#define EXT4_IOC_RESIZE_FS _IOW('f', 16, uint64_t)
#endif
#define EXT4_MAGIC 0xef53
#define EXT4_INCOMPAT_64BIT 0x80

struct mount_row {
	const char *source, *target, *type, *options;
	unsigned long flags;
	mode_t mode; /* of a mount point that has to be made */
};

static int mount_row(const struct mount_row *row, struct error *err)
{
	if (mkdir(row->target, row->mode) && errno != EEXIST)
		return error_set(err, errno, "%s", row->target);
	if (mount(row->source, row->target, row->type, row->flags,
		  row->options))
		return error_set(err, errno, "mount of %s on %s", row->type,
				 row->target);
	return 0;
}

static const struct mount_row early_mounts[] = {
	{ "proc", "/proc", "proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC,
	  0555 },
	{ "sysfs", "/sys", "sysfs", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC,
	  0555 },
	{ "devtmpfs", "/dev", "devtmpfs", "mode=755", MS_NOSUID, 0755 },
};

int rootfs_mount_early(struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(early_mounts); i++) {
		if (mount_row(&early_mounts[i], err))
			return -1;
	}
	return 0;
}

static uint32_t le32_at(const uint8_t *bytes, size_t offset)
{
	return (uint32_t)bytes[offset] | (uint32_t)bytes[offset + 1] << 8 |
	       (uint32_t)bytes[offset + 2] << 16 |
	       (uint32_t)bytes[offset + 3] << 24;
}

int rootfs_parse_superblock(const uint8_t bytes[ROOTFS_SUPERBLOCK_BYTES],
			    struct rootfs_size *size)
{
	uint32_t log_block = le32_at(bytes, 0x18);

	if ((le32_at(bytes, 0x38) & 0xffff) != EXT4_MAGIC || log_block > 6)
		return -1;
	size->block_bytes = 1024u << log_block;
	size->blocks = le32_at(bytes, 0x4);
	if (le32_at(bytes, 0x60) & EXT4_INCOMPAT_64BIT)
		size->blocks |= (uint64_t)le32_at(bytes, 0x150) << 32;
	return size->blocks ? 0 : -1;
}

static int wait_for_device(const char *path, unsigned timeout_ms)
{
	uint64_t deadline = loop_now_ms() + timeout_ms;
	struct timespec pause = { .tv_nsec = 2000000 };
	int fd;

	for (;;) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 || loop_now_ms() >= deadline)
			return fd;
		nanosleep(&pause, NULL);
	}
}

/* Blocks that the file system should have; 0 when it fills its device. */
static uint64_t missing_blocks(int device)
{
	uint8_t superblock[ROOTFS_SUPERBLOCK_BYTES];
	struct rootfs_size size;
	uint64_t device_bytes, blocks;

	if (pread(device, superblock, sizeof(superblock),
		  ROOTFS_SUPERBLOCK_OFFSET) != (ssize_t)sizeof(superblock) ||
	    rootfs_parse_superblock(superblock, &size) ||
	    ioctl(device, BLKGETSIZE64, &device_bytes))
		return 0;
	blocks = device_bytes / size.block_bytes;
	return blocks > size.blocks ? blocks : 0;
}

static void grow(uint64_t blocks)
{
	AUTO_CLOSE int root = open("/newroot", O_RDONLY | O_CLOEXEC);

	/* A smaller disk than asked for is better than no sandbox. */
	if (root < 0 || ioctl(root, EXT4_IOC_RESIZE_FS, &blocks))
		log_error("the disk could not be grown: %s", strerror(errno));
}

int rootfs_mount_disk(unsigned timeout_ms, struct error *err)
{
	AUTO_CLOSE int device = wait_for_device(ROOTFS_DEVICE, timeout_ms);
	uint64_t blocks;

	if (device < 0)
		return error_set(err, errno, "root disk %s", ROOTFS_DEVICE);
	blocks = missing_blocks(device);
	/*
	 * noinit_itable: the kernel would otherwise write zeroes to inode
	 * tables in the background, into every sandbox's own layer.
	 */
	if (mount(ROOTFS_DEVICE, "/newroot", "ext4", MS_NOATIME,
		  "discard,noinit_itable"))
		return error_set(err, errno, "root disk %s", ROOTFS_DEVICE);
	if (blocks)
		grow(blocks);
	return 0;
}

static int move_mount_point(const char *from, const char *to, struct error *err)
{
	if (mkdir(to, 0755) && errno != EEXIST)
		return error_set(err, errno, "%s", to);
	if (mount(from, to, NULL, MS_MOVE, NULL))
		return error_set(err, errno, "move of %s", from);
	return 0;
}

static void empty_initramfs(void)
{
	/* The rest goes when it was used: modules_load(). */
	if (unlink("/init"))
		log_debug("initramfs: %s", strerror(errno));
}

int rootfs_switch(struct error *err)
{
	if (move_mount_point("/proc", "/newroot/proc", err) ||
	    move_mount_point("/sys", "/newroot/sys", err) ||
	    move_mount_point("/dev", "/newroot/dev", err))
		return -1;
	empty_initramfs();
	if (chdir("/newroot"))
		return error_set(err, errno, "/newroot");
	if (mount(".", "/", NULL, MS_MOVE, NULL))
		return error_set(err, errno, "move of the root");
	if (chroot(".") || chdir("/"))
		return error_set(err, errno, "change of the root");
	return 0;
}

static const struct mount_row late_mounts[] = {
	{ "devpts", "/dev/pts", "devpts", "gid=5,mode=620,ptmxmode=666",
	  MS_NOSUID | MS_NOEXEC, 0755 },
	{ "tmpfs", "/dev/shm", "tmpfs", "mode=1777", MS_NOSUID | MS_NODEV,
	  0755 },
	{ "tmpfs", "/run", "tmpfs", "mode=755,size=25%", MS_NOSUID | MS_NODEV,
	  0755 },
};

static void make_folder(const char *path, mode_t mode)
{
	/* Only a folder that we made gets our mode. */
	if (mkdir(path, mode) == 0)
		chmod(path, mode);
}

int rootfs_mount_late(struct error *err)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(late_mounts); i++) {
		if (mount_row(&late_mounts[i], err))
			return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			return error_set(err, errno, "%s", links[i][1]);
	}
	make_folder("/tmp", 01777);
	make_folder("/run/lock", 01777);
	make_folder("/run/bawn", 0755);
	make_folder("/etc", 0755);
	make_folder("/root", 0700);
	return 0;
}
