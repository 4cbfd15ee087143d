/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.c - what happened between two marks, as a folder
 *
 * Folders are read by the bare system call: bawn-files may do little else.
 */
#include "undo/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define LABEL_BYTES 128

/* What getdents64() writes. */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

void segment_name(unsigned number, char name[16])
{
	text_format(name, 16, "%06u", number);
}

void segment_time_label(const char *prefix, const struct timespec *time,
			char *label, size_t size)
{
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&time->tv_sec, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	text_format(label, size, "%s%s.%03ldZ", prefix, when,
		    time->tv_nsec / 1000000);
}

void segment_label_now(const char *prefix, char *label, size_t size)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	segment_time_label(prefix, &now, label, size);
}

static int each_in(const uint8_t *bytes, size_t len, int folder,
		   segment_name_fn *each, void *ctx)
{
	for (size_t at = 0; at < len;) {
		const struct entry *entry = (const void *)(bytes + at);
		int stop = 0;

		if (strcmp(entry->name, ".") != 0 &&
		    strcmp(entry->name, "..") != 0)
			stop = each(ctx, folder, entry->name);
		if (stop)
			return stop;
		at += entry->len;
	}
	return 0;
}

int segment_each_name(int folder, segment_name_fn *each, void *ctx)
{
	uint8_t bytes[8192] __attribute__((aligned(8)));
	long len;

	if (lseek(folder, 0, SEEK_SET) < 0)
		return -1;
	while ((len = syscall(SYS_getdents64, folder, bytes, sizeof(bytes))) >
	       0) {
		int stop = each_in(bytes, (size_t)len, folder, each, ctx);

		if (stop)
			return stop;
	}
	return len < 0 ? -1 : 0;
}

static int parse_label(char *text, struct segment *segment)
{
	char *space = strchr(text, ' '), *end = strchr(text, '\n');
	uint64_t seconds;

	if (!space || !end || end[1] || space > end)
		return -1;
	*space = *end = '\0';
	if (!journal_label_is_good(text) ||
	    text_to_u64(space + 1, 0, INT64_MAX / 2, &seconds) < 0)
		return -1;
	segment->time = (int64_t)seconds;
	return text_copy(segment->label, sizeof(segment->label), text);
}

static int read_label(int undo_fd, const char *name, struct segment *segment)
{
	AUTO_CLOSE int folder = -1, fd = -1;
	char text[LABEL_BYTES];
	struct stat st;
	ssize_t len;

	folder = openat(undo_fd, name,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -1;
	fd = openat(folder, SEGMENT_LABEL,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	len = pread(fd, text, sizeof(text) - 1, 0);
	if (len < 0)
		return -1;
	text[len] = '\0';
	return parse_label(text, segment);
}

static int add_segment(void *ctx, int undo_fd, const char *name)
{
	struct segments *segments = ctx;
	struct segment segment = { 0 };
	uint64_t number;

	if (strlen(name) != 6 ||
	    text_to_u64(name, 1, SEGMENT_NUMBER_MAX, &number) < 0)
		return 0;
	segment.number = (unsigned)number;
	if (read_label(undo_fd, name, &segment) < 0)
		return 0;
	if (segments->count == SEGMENT_COUNT_MAX * 2)
		return 1;
	segments->list = xrealloc(segments->list,
				  (segments->count + 1) * sizeof(segment));
	segments->list[segments->count++] = segment;
	return 0;
}

/*
 * By hand: qsort() asks for the size of the memory when a list is longer, a
 * call that bawn-files may not make.
 */
static void sort(struct segments *segments)
{
	for (size_t i = 1; i < segments->count; i++) {
		struct segment one = segments->list[i];
		size_t at = i;

		for (; at && segments->list[at - 1].number > one.number; at--)
			segments->list[at] = segments->list[at - 1];
		segments->list[at] = one;
	}
}

int segments_load(int undo_fd, struct segments *segments, struct error *err)
{
	*segments = (struct segments){ 0 };
	if (segment_each_name(undo_fd, add_segment, segments) < 0)
		return error_set(err, errno, "undo journal");
	sort(segments);
	return 0;
}

void segments_release(struct segments *segments)
{
	free(segments->list);
	*segments = (struct segments){ 0 };
}

int segment_write(int segment_fd, const char *name, const char *text,
		  struct error *err)
{
	AUTO_CLOSE int fd = openat(
		segment_fd, name,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_set(err, errno, "undo: %s", name);
	return 0;
}

int segment_write_label(int segment_fd, const char *label, int64_t now,
			struct error *err)
{
	char text[LABEL_BYTES];

	text_format(text, sizeof(text), "%s %lld\n", label, (long long)now);
	return segment_write(segment_fd, SEGMENT_LABEL, text, err);
}
