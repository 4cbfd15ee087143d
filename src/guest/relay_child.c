/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_child.c - who mounts and unmounts for the relay
 */
#include "guest/relay_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/overlay.h"
#include "guest/relay_tree.h"
#include "guest/sysfile.h"

#define SOURCE "bawn"
#define READ_AHEAD_KB "4096"
#define OPEN_TRIES 64

enum { /* descriptors of the child */
       FD_COMMAND = 3,
       FD_REPORT,
       FD_DEVICE,
       FD_COUNT,
};

static bool is_overlay(const struct relay_order *order)
{
	return order->flags & RECORD_SHARE_OVERLAY;
}

/* Where the FUSE file system itself is. */
static void served_path(const struct relay_order *order, char *path,
			size_t size)
{
	if (is_overlay(order))
		text_format(path, size, OVERLAY_LOWER "/%u", order->number);
	else
		text_copy(path, size, order->path);
}

static int say(char what, struct error *err)
{
	if (write(FD_REPORT, &what, 1) < 0)
		return error_set(err, errno, "report");
	return 0;
}

/* INIT has capped it at the kernel's default: now it can be raised. */
static void set_read_ahead(const struct stat *st)
{
	char path[80];

	text_format(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
		    major(st->st_dev), minor(st->st_dev));
	if (sysfile_write(AT_FDCWD, path, READ_AHEAD_KB))
		log_debug("%s: %s", path, strerror(errno));
}

static int mount_served(const struct relay_order *order, const char *path,
			struct error *err)
{
	char options[160];

	text_format(options, sizeof(options),
		    "fd=%d,rootmode=%o,user_id=0,group_id=0,"
		    "default_permissions,allow_other,max_read=1048576",
		    FD_DEVICE, order->type);
	if (mount(SOURCE, path, "fuse." SOURCE, MS_NOSUID | MS_NODEV, options))
		return error_set(err, errno, "mount on %s", path);
	if (say(RELAY_CHILD_MOUNTED, err))
		return -1;
	close(FD_DEVICE);
	return 0;
}

static int mount_overlay(const struct relay_order *order, const struct stat *st,
			 struct error *err)
{
	char upper[OVERLAY_PATH_MAX], work[OVERLAY_PATH_MAX];

	overlay_upper(order->number, upper);
	overlay_work(order->number, work);
	if (relay_tree_make(upper, S_IFDIR, err) ||
	    relay_tree_make(work, S_IFDIR, err) ||
	    relay_tree_make(order->path, S_IFDIR, err))
		return -1;
	chmod(OVERLAY_FOLDER, 0700);
	if (chown(upper, st->st_uid, st->st_gid) ||
	    chmod(upper, st->st_mode & 07777))
		return error_set(err, errno, "%s", upper);
	return overlay_mount(order->number, order->path, err);
}

/* What has to be asked of the server first, before programs come. */
static int restrict_share(const struct relay_order *order, const char *path,
			  struct stat *st, struct error *err)
{
	if (stat(path, st))
		return error_set(err, errno, "%s", path);
	/* The mount is, not the file system: events are raised by changes. */
	if (mount(NULL, path, NULL,
		  MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		  NULL))
		return error_set(err, errno, "read-only mount on %s", path);
	return is_overlay(order) ? mount_overlay(order, st, err) : 0;
}

/*
 * Until the kernel has opened a file for the first time it does not know that
 * nobody wants to hear of that, and tells of each end of one that it made.
 */
static void open_one(const char *path)
{
	int folder = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = folder < 0 ? NULL : fdopendir(folder);
	const struct dirent *entry;
	int fd = -1;

	for (int i = 0; dir && fd < 0 && i < OPEN_TRIES; i++) {
		entry = readdir(dir);
		if (!entry)
			break;
		if (entry->d_type == DT_REG)
			fd = openat(folder, entry->d_name,
				    O_RDONLY | O_NONBLOCK | O_NOFOLLOW |
					    O_NOATIME | O_CLOEXEC);
	}
	if (fd >= 0)
		close(fd);
	if (dir)
		closedir(dir);
	else if (folder >= 0)
		close(folder); /* a single file: then it was that */
}

static int mount_share(const struct relay_order *order, struct error *err)
{
	char path[WELCOME_PATH_MAX + 1];
	struct stat st;

	served_path(order, path, sizeof(path));
	if (is_overlay(order) && order->type != S_IFDIR)
		return error_set(err, 0, "%s: a single file has no overlay",
				 order->path);
	if (relay_tree_make(path, order->type, err) ||
	    mount_served(order, path, err))
		return -1;
	relay_tree_open(order->path);
	if (order->flags & (RECORD_SHARE_READ_ONLY | RECORD_SHARE_OVERLAY) &&
	    restrict_share(order, path, &st, err))
		return -1;
	/* The first program waits for INIT by itself, if it must. */
	if (say(RELAY_CHILD_USABLE, err))
		return -1;
	if (stat(path, &st))
		return error_set(err, errno, "%s", path);
	set_read_ahead(&st);
	if (!is_overlay(order))
		open_one(path);
	return 0;
}

/*
 * A fork of a machine that wrote to the folder itself: programs that have it
 * open go on reading there, all others get the overlay.
 */
static int cover_share(const struct relay_order *order, struct error *err)
{
	char path[WELCOME_PATH_MAX + 1];
	struct stat st;

	served_path(order, path, sizeof(path));
	close(FD_DEVICE);
	if (relay_tree_make(path, S_IFDIR, err))
		return -1;
	if (mount(order->path, path, NULL, MS_BIND, NULL))
		return error_set(err, errno, "%s", path);
	if (restrict_share(order, path, &st, err))
		return -1;
	return say(RELAY_CHILD_USABLE, err);
}

/* What is written through it is written out; a busy one leaves later. */
static void unmount(const char *path)
{
	if (umount2(path, UMOUNT_NOFOLLOW) && errno == EBUSY)
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
}

static void unmount_share(const struct relay_order *order)
{
	char path[WELCOME_PATH_MAX + 1];

	unmount(order->path);
	served_path(order, path, sizeof(path));
	if (is_overlay(order))
		unmount(path);
}

static void renumber(int command, int report, int device)
{
	int fds[FD_COUNT] = { [FD_COMMAND] = command,
			      [FD_REPORT] = report,
			      [FD_DEVICE] = device };

	/* First out of the way of the numbers, then to them. */
	for (int i = FD_COMMAND; i < FD_COUNT; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FD_COUNT);
	for (int i = FD_COMMAND; i < FD_COUNT; i++) {
		if (dup3(fds[i], i, O_CLOEXEC) < 0)
			_exit(1);
	}
	syscall(SYS_close_range, FD_COUNT, ~0U, 0);
}

static void read_order(struct relay_order *order)
{
	uint8_t *to = (uint8_t *)order;

	for (size_t len = 0; len < sizeof(*order);) {
		ssize_t n = read(FD_COMMAND, to + len, sizeof(*order) - len);

		if (n <= 0)
			_exit(0); /* not needed any more */
		len += (size_t)n;
	}
}

static int obey(const struct relay_order *order, struct error *err)
{
	switch (order->task) {
	case RELAY_MOUNT:
		return mount_share(order, err);
	case RELAY_COVER:
		return cover_share(order, err);
	case RELAY_UNMOUNT:
		unmount_share(order);
	}
	return 0;
}

static _Noreturn void serve(void)
{
	struct relay_order order = { 0 };
	struct error err = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "bawn-mount");
	log_to(-1);
	umask(022);
	read_order(&order);
	if (order.clear)
		relay_tree_clear(SOURCE);
	if (obey(&order, &err) &&
	    write(FD_REPORT, err.text, strlen(err.text)) < 0)
		_exit(1);
	_exit(0);
}

int relay_child_fork(struct relay_child *child)
{
	AUTO_CLOSE int device =
		open("/dev/fuse", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int command[2], report[2];
	pid_t pid;

	if (device < 0 || pipe2(command, O_CLOEXEC))
		return -1;
	if (pipe2(report, O_CLOEXEC)) {
		close(command[0]);
		close(command[1]);
		return -1;
	}
	pid = fork();
	if (pid == 0) {
		renumber(command[0], report[1], device);
		serve();
	}
	close(command[0]);
	close(report[1]);
	if (pid > 0) {
		*child = (struct relay_child){ command[1], report[0],
					       TAKE_FD(device) };
		return 0;
	}
	close(command[1]);
	close(report[0]);
	return -1;
}

int relay_child_start(struct relay_child *child,
		      const struct relay_order *order)
{
	AUTO_CLOSE int command = TAKE_FD(child->command);

	/* Less than a pipe holds. */
	return write(command, order, sizeof(*order)) == (ssize_t)sizeof(*order)
		       ? 0
		       : -1;
}
