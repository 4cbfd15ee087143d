/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_mount.c - mounting, by a child
 *
 * A mount point may lie in another share, which the relay serves: a child
 * walks there. It works on one share and holds no other's /dev/fuse; before
 * it touches what was mounted it closes that one, too. So when the relay dies,
 * the kernel gives all of its file systems up, whatever a child waits for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
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
#include "guest/relay_internal.h"
#include "guest/relay_tree.h"
#include "guest/sysfile.h"

#define SOURCE "bawn"
#define READ_AHEAD_KB "1024"
#define MOUNTED '\n' /* then nothing, or what went wrong after all */

enum child_task {
	CHILD_MOUNT,
	CHILD_UNMOUNT,
};

struct child_ends {
	int device; /* /dev/fuse; -1: none */
	int report;
};

static bool is_overlay(const struct relay_share *share)
{
	return share->flags & RECORD_SHARE_OVERLAY;
}

/* Where the FUSE file system itself is. */
static void served_path(const struct relay_share *share, unsigned number,
			char *path, size_t size)
{
	if (is_overlay(share))
		text_format(path, size, OVERLAY_LOWER "/%u", number);
	else
		text_copy(path, size, share->path);
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

static int mount_served(const struct relay_share *share, const char *path,
			struct child_ends *ends, struct stat *st,
			struct error *err)
{
	bool read_only =
		share->flags & (RECORD_SHARE_READ_ONLY | RECORD_SHARE_OVERLAY);
	char options[160];

	text_format(options, sizeof(options),
		    "fd=%d,rootmode=%o,user_id=0,group_id=0,"
		    "default_permissions,allow_other,max_read=1048576",
		    ends->device, share->type);
	if (mount(SOURCE, path, "fuse." SOURCE, MS_NOSUID | MS_NODEV, options))
		return error_set(err, errno, "mount on %s", path);
	/* From now on there is something to be read, and it must be. */
	if (write(ends->report, &(char){ MOUNTED }, 1) < 0)
		return error_set(err, errno, "report");
	close(ends->device);
	if (stat(path, st))
		return error_set(err, errno, "%s", path);
	/* The mount is, not the file system: events are raised by changes. */
	if (read_only &&
	    mount(NULL, path, NULL,
		  MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		  NULL))
		return error_set(err, errno, "read-only mount on %s", path);
	set_read_ahead(st);
	return 0;
}

static int mount_overlay(const struct relay_share *share, unsigned number,
			 const struct stat *st, struct error *err)
{
	char upper[OVERLAY_PATH_MAX], work[OVERLAY_PATH_MAX];

	overlay_upper(number, upper);
	overlay_work(number, work);
	if (relay_tree_make(upper, S_IFDIR, err) ||
	    relay_tree_make(work, S_IFDIR, err) ||
	    relay_tree_make(share->path, S_IFDIR, err))
		return -1;
	chmod(OVERLAY_FOLDER, 0700);
	if (chown(upper, st->st_uid, st->st_gid) ||
	    chmod(upper, st->st_mode & 07777))
		return error_set(err, errno, "%s", upper);
	return overlay_mount(number, share->path, err);
}

static int mount_share(const struct relay_share *share, unsigned number,
		       struct child_ends *ends, struct error *err)
{
	char path[WELCOME_PATH_MAX + 1];
	struct stat st;

	served_path(share, number, path, sizeof(path));
	if (is_overlay(share) && share->type != S_IFDIR)
		return error_set(err, 0, "%s: a single file has no overlay",
				 share->path);
	if (relay_tree_make(path, share->type, err) ||
	    mount_served(share, path, ends, &st, err))
		return -1;
	relay_tree_open(share->path);
	return is_overlay(share) ? mount_overlay(share, number, &st, err) : 0;
}

/* What is written through it is written out; a busy one leaves later. */
static void unmount(const char *path)
{
	if (umount2(path, UMOUNT_NOFOLLOW) && errno == EBUSY)
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
}

static void unmount_share(const struct relay_share *share, unsigned number)
{
	char path[WELCOME_PATH_MAX + 1];

	unmount(share->path);
	served_path(share, number, path, sizeof(path));
	if (is_overlay(share))
		unmount(path);
}

static void close_others(struct child_ends *ends)
{
	enum { FD_REPORT = 3, FD_DEVICE };
	int report = fcntl(ends->report, F_DUPFD_CLOEXEC, FD_DEVICE + 1);
	int device = fcntl(ends->device, F_DUPFD_CLOEXEC, FD_DEVICE + 1);

	ends->report = dup3(report, FD_REPORT, O_CLOEXEC);
	ends->device = device < 0 ? -1 : dup3(device, FD_DEVICE, O_CLOEXEC);
	syscall(SYS_close_range, device < 0 ? FD_DEVICE : FD_DEVICE + 1, ~0U,
		0);
}

static _Noreturn void child(struct relay *relay, unsigned number,
			    enum child_task task, int report)
{
	const struct relay_share *share = &relay->shares[number];
	struct child_ends ends = { task == CHILD_MOUNT ? share->fd : -1,
				   report };
	struct error err = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "bawn-mount");
	log_to(-1);
	close_others(&ends);
	umask(022);
	if (task == CHILD_UNMOUNT)
		unmount_share(share, number);
	else if (relay->again)
		relay_tree_clear(SOURCE);
	if (task == CHILD_MOUNT && mount_share(share, number, &ends, &err) &&
	    write(ends.report, err.text, strlen(err.text)) < 0)
		_exit(1);
	_exit(0);
}

static int start_child(struct relay *relay, unsigned number,
		       enum child_task task)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		child(relay, number, task, ends[1]);
	relay->again = false;
	close(ends[1]);
	if (pid < 0 ||
	    relay_watch(relay, ends[0], RELAY_EVENT_MOUNT, EPOLLIN)) {
		close(ends[0]);
		return -1;
	}
	relay->mount_fd = ends[0];
	relay->mount_share = number;
	relay->mount_done = false;
	return 0;
}

static void note_problem(struct relay *relay, const char *text)
{
	log_warn("files: %s", text);
	if (!relay->problem[0])
		text_copy(relay->problem, sizeof(relay->problem), text);
}

static int open_device(struct relay *relay, unsigned number)
{
	struct relay_share *share = &relay->shares[number];
	int fd = open("/dev/fuse", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (share->fd < 0) {
		share->fd = fd;
	} else {
		dup3(fd, share->fd, O_CLOEXEC);
		close(fd);
	}
	return 0;
}

static bool begin(struct relay *relay, unsigned number)
{
	struct relay_share *share = &relay->shares[number];
	bool leaving = share->state == RELAY_SHARE_LEAVING;

	if (!leaving && open_device(relay, number)) {
		note_problem(relay, strerror(errno));
		relay_fuse_over(relay, number);
		return false;
	}
	if (!leaving)
		share->state = RELAY_SHARE_MOUNTING;
	if (!start_child(relay, number, leaving ? CHILD_UNMOUNT : CHILD_MOUNT))
		return true;
	note_problem(relay, strerror(errno));
	relay_fuse_over(relay, number);
	return false;
}

/* Leaving ones inside out, then offered ones outside in. */
static int choose(const struct relay *relay)
{
	int best = -1;

	for (unsigned i = 0; i < relay->count; i++) {
		const struct relay_share *share = &relay->shares[i], *other;
		bool before;

		if (share->state != RELAY_SHARE_OFFERED &&
		    share->state != RELAY_SHARE_LEAVING)
			continue;
		if (best < 0) {
			best = (int)i;
			continue;
		}
		other = &relay->shares[best];
		if (share->state != other->state)
			before = share->state == RELAY_SHARE_LEAVING;
		else if (share->state == RELAY_SHARE_LEAVING)
			before = strcmp(share->path, other->path) > 0;
		else
			before = strcmp(share->path, other->path) < 0;
		if (before)
			best = (int)i;
	}
	return best;
}

bool relay_mount_busy(const struct relay *relay)
{
	return relay->mount_fd >= 0 || choose(relay) >= 0;
}

void relay_mount_next(struct relay *relay)
{
	int number;

	while (relay->mount_fd < 0 && (number = choose(relay)) >= 0) {
		if (begin(relay, (unsigned)number))
			return;
	}
}

/* False when nothing more will come. */
static bool hear_child(struct relay *relay)
{
	unsigned number = relay->mount_share;
	char text[sizeof(relay->problem)];
	ssize_t n = read(relay->mount_fd, text, sizeof(text) - 1);
	const char *problem = text;

	if (n <= 0)
		return false;
	text[n] = '\0';
	/*
	 * Before the mount the device cannot be waited for. Edges: it is read
	 * until there is nothing, and then asked no more.
	 */
	if (*problem == MOUNTED) {
		relay->mount_done = true;
		relay_watch(relay, relay->shares[number].fd, number,
			    EPOLLIN | EPOLLET);
		problem++;
	}
	if (*problem) {
		note_problem(relay, problem);
		relay_fuse_over(relay, number);
	}
	return true;
}

void relay_mount_event(struct relay *relay)
{
	struct relay_share *share = &relay->shares[relay->mount_share];

	if (hear_child(relay))
		return;
	close(relay->mount_fd);
	relay->mount_fd = -1;
	if (share->state == RELAY_SHARE_LEAVING || !relay->mount_done)
		relay_fuse_over(relay, relay->mount_share);
	else if (share->state == RELAY_SHARE_MOUNTING)
		share->state = share->flags & RECORD_SHARE_GONE
				       ? RELAY_SHARE_LEAVING
				       : RELAY_SHARE_MOUNTED;
	relay_mount_next(relay);
}
