/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.c - print files line by line, and go on as they grow
 */
#include "cli/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

#define READ_BYTES (32u * 1024)

void tail_file_init(struct tail_file *file, const char *name,
		    void (*line)(void *ctx, const char *text, size_t len),
		    void *ctx)
{
	*file = (struct tail_file){
		.name = name, .line = line, .ctx = ctx, .fd = -1
	};
	buffer_init(&file->part, TAIL_LINE_MAX);
}

void tail_file_release(struct tail_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	buffer_release(&file->part);
}

static void add(struct tail_file *file, const char *bytes, size_t len)
{
	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;

		/* an endless line is cut: a guest may write one */
		if (buffer_append(&file->part, bytes, part) < 0) {
			tail_end(file);
			part = part < TAIL_LINE_MAX ? part : TAIL_LINE_MAX;
			end = NULL;
			buffer_append(&file->part, bytes, part);
		}
		if (end) {
			file->line(file->ctx, (const char *)file->part.data,
				   file->part.len);
			buffer_consume(&file->part, file->part.len);
			part++;
		}
		bytes += part;
		len -= part;
	}
}

void tail_end(struct tail_file *file)
{
	if (file->part.len)
		file->line(file->ctx, (const char *)file->part.data,
			   file->part.len);
	buffer_consume(&file->part, file->part.len);
}

static void read_open(struct tail_file *file)
{
	char bytes[READ_BYTES];
	ssize_t n;

	while ((n = pread(file->fd, bytes, sizeof(bytes),
			  (off_t)file->offset)) > 0) {
		add(file, bytes, (size_t)n);
		file->offset += (uint64_t)n;
	}
}

/* A file that was moved aside is read to its end, then the new one. */
void tail_read(int folder, struct tail_file *file)
{
	struct stat named, open_one;
	bool there =
		fstatat(folder, file->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(named.st_mode);

	if (file->fd >= 0)
		read_open(file);
	if (!there)
		return;
	if (file->fd >= 0 && fstat(file->fd, &open_one) == 0 &&
	    open_one.st_ino == named.st_ino &&
	    open_one.st_dev == named.st_dev &&
	    (uint64_t)open_one.st_size >= file->offset)
		return;
	if (file->fd >= 0)
		close(file->fd);
	file->offset = 0;
	file->fd = openat(folder, file->name,
			  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file->fd >= 0)
		read_open(file);
}

static int watch(int notify, int folder)
{
	char path[32];

	text_format(path, sizeof(path), "/proc/self/fd/%d", folder);
	return inotify_add_watch(notify, path,
				 IN_MODIFY | IN_CREATE | IN_MOVED_TO |
					 IN_DELETE_SELF | IN_MOVE_SELF);
}

/* False when the folder is gone. */
static bool read_place(struct tail_place *place)
{
	struct stat st;

	if (place->folder < 0)
		return false;
	for (size_t i = 0; i < place->count; i++)
		tail_read(place->folder, &place->files[i]);
	return fstat(place->folder, &st) == 0 && st.st_nlink > 0;
}

int tail_follow_each(struct tail_place *places, size_t count, struct error *err)
{
	AUTO_CLOSE int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd polls[2] = { { notify, POLLIN, 0 }, { 1, 0, 0 } };
	char events[4096];
	bool there;

	for (size_t i = 0; i < count; i++)
		if (notify < 0 || (places[i].folder >= 0 &&
				   watch(notify, places[i].folder) < 0))
			return error_set(err, errno, "inotify");
	for (;;) {
		there = false;
		for (size_t i = 0; i < count; i++)
			there = read_place(&places[i]) || there;
		if (fflush(stdout) != 0)
			return 0; /* the reader has gone; main.c says so */
		if (!there)
			return 0;
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return error_set(err, errno, "poll");
		if (polls[1].revents & (POLLERR | POLLHUP))
			return 0;
		while (read(notify, events, sizeof(events)) > 0)
			;
	}
}

int tail_follow(int folder, struct tail_file *files, size_t count,
		struct error *err)
{
	struct tail_place place = { folder, files, count };

	return tail_follow_each(&place, 1, err);
}
