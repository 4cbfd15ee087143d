/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ticket.c - operations that raise events, on the notifier's thread
 *
 * What a ticket names has happened on the host. Done here once more it raises
 * the events that inotify would; the server answers and does nothing. Where it
 * fails something changed again, and that has its own ticket.
 *
 * Over an overlay those who watch have the overlay's own inodes, and whatever
 * changes one of these copies the file to the guest's disk first. But for one:
 * to take away the default list of rights of what is no folder, and so can have
 * none, succeeds without a change, and counts as one of attributes.
 */
#include "guest/relay_ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "guest/overlay.h"
#include "guest/relay_internal.h"

/* A folder and a name in it. */
struct place {
	int folder; /* owned */
	const char *name;
};

/*
 * The root of the file system, also when something is mounted over parts of
 * it, and writable also where the guest's users may not write: the server
 * decides what happens.
 */
static int open_root(const struct relay_share *share)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, share->path,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd >= 0 && (share->flags & RECORD_SHARE_READ_ONLY))
		syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr,
			sizeof(attr));
	return fd;
}

static int open_place(int root, char *path, struct place *place)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve =
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	char *slash = strrchr(path, '/');

	place->name = slash ? slash + 1 : path;
	if (slash)
		*slash = '\0';
	place->folder = (int)syscall(SYS_openat2, root, slash ? path : ".",
				     &how, sizeof(how));
	return place->folder < 0 ? -1 : 0;
}

/* Both times are an attribute; the later one alone counts as a change. */
static void touch(const struct place *at, bool both)
{
	struct timespec times[2] = { { .tv_nsec = both ? 0 : UTIME_OMIT },
				     { .tv_nsec = 0 } };

	utimensat(at->folder, at->name, times, AT_SYMLINK_NOFOLLOW);
}

/*
 * While a file is open for writing nobody can execute it. The host's answer
 * now, not what is cached: who links a program makes it executable last.
 */
static bool may_be_executed(const struct place *at)
{
	struct statx st;

	if (syscall(SYS_statx, at->folder, at->name,
		    AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_MODE, &st))
		return true;
	return st.stx_mode & 0111;
}

static void open_and_close(const struct place *at)
{
	int fd = openat(at->folder, at->name,
			O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

static int create(const struct place *at, mode_t type)
{
	if (type == S_IFDIR)
		return mkdirat(at->folder, at->name, 0700);
	if (type == S_IFLNK)
		return symlinkat("x", at->folder, at->name);
	return mknodat(at->folder, at->name, type | 0600, 0);
}

static void act(const struct ticket_record *ticket, const struct place *at,
		const struct place *to)
{
	switch (ticket->kind) {
	case TICKET_MODIFY:
		touch(at, false);
		break;
	case TICKET_ATTRIB:
		touch(at, true);
		break;
	case TICKET_CLOSE_WRITE:
		if (ticket->type != S_IFREG)
			break;
		if (may_be_executed(at))
			touch(at, false);
		else
			open_and_close(at);
		break;
	case TICKET_CREATE:
		/* Somebody found it before: then that is the news. */
		if (create(at, ticket->type) && errno == EEXIST)
			touch(at, true);
		break;
	case TICKET_REMOVE:
		unlinkat(at->folder, at->name,
			 ticket->type == S_IFDIR ? AT_REMOVEDIR : 0);
		break;
	case TICKET_RENAME:
		renameat(at->folder, at->name, to->folder, to->name);
		break;
	default:
		break;
	}
}

/* The guest has its own version, or a mark that it has none. */
static bool is_covered(unsigned number, const char *path)
{
	char upper[OVERLAY_PATH_MAX];
	AUTO_CLOSE int root = -1;
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int fd;

	overlay_upper(number, upper);
	root = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void tell_overlay(const struct relay_share *share, unsigned number,
			 struct ticket_record *ticket)
{
	AUTO_CLOSE int root = -1, folder = -1;
	char path[64 + NAME_MAX];
	struct place at = { -1, NULL };

	if (ticket->kind != TICKET_ATTRIB || is_covered(number, ticket->path))
		return;
	root = open_root(share);
	if (root < 0 || open_place(root, ticket->path, &at) < 0)
		return;
	folder = at.folder;
	if (text_format(path, sizeof(path), "/proc/self/fd/%d/%s", folder,
			at.name) == 0)
		(void)lremovexattr(path, "system.posix_acl_default");
}

static void do_again(const struct relay_share *share,
		     struct ticket_record *ticket)
{
	AUTO_CLOSE int root = open_root(share);
	struct place at = { -1, NULL }, to = { -1, NULL };

	if (root >= 0 && !open_place(root, ticket->path, &at) &&
	    (ticket->kind != TICKET_RENAME ||
	     !open_place(root, ticket->path2, &to)))
		act(ticket, &at, &to);
	if (at.folder >= 0)
		close(at.folder);
	if (to.folder >= 0)
		close(to.folder);
}

void relay_ticket(const struct relay *relay, unsigned share,
		  const uint8_t *bytes, size_t len)
{
	struct ticket_record ticket;

	if (ticket_record_decode(bytes, len, &ticket) < 0)
		return;
	if (relay->shares[share].flags & RECORD_SHARE_OVERLAY)
		tell_overlay(&relay->shares[share], share, &ticket);
	else
		do_again(&relay->shares[share], &ticket);
	if (write(relay->ticket_fds[1], &ticket.number, sizeof(ticket.number)) <
	    0)
		return; /* the server's patience ends it */
}
