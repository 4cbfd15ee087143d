/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_files.c - the files of a snapshot compared with its manifest
 */
#include "state/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define READ_BYTES (1u << 20)
#define LANES 4

int snapshot_note(int fd, struct snapshot_file *file, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "snapshot");
	file->size = (uint64_t)st.st_size;
	file->bytes = (uint64_t)st.st_blocks * 512;
	file->inode = (uint64_t)st.st_ino;
	file->changed_ns =
		st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	return 0;
}

/* Not against forgery, which gains nothing here: against damage. */
uint64_t snapshot_page_sum(const void *page, uint64_t number)
{
	const uint64_t odd = 0x9e3779b97f4a7c15ull;
	uint64_t lanes[LANES] = { 1, 2, 3, 4 }, any = 0, sum;
	const unsigned char *at = page;

	for (size_t i = 0; i < SNAPSHOT_PAGE; i += LANES * 8) {
		uint64_t words[LANES];

		memcpy(words, at + i, sizeof(words));
		for (int lane = 0; lane < LANES; lane++) {
			any |= words[lane];
			lanes[lane] = (lanes[lane] ^ words[lane]) * odd;
			lanes[lane] ^= lanes[lane] >> 29;
		}
	}
	if (!any)
		return 0;
	sum = (number + 1) * odd;
	for (int lane = 0; lane < LANES; lane++) {
		sum = (sum ^ lanes[lane]) * odd;
		sum ^= sum >> 32;
	}
	return sum ? sum : 1;
}

static uint64_t sum_bytes(unsigned char *bytes, size_t len, off_t at)
{
	uint64_t sum = 0;

	memset(bytes + len, 0, SNAPSHOT_PAGE);
	for (size_t i = 0; i < len; i += SNAPSHOT_PAGE)
		sum += snapshot_page_sum(bytes + i,
					 ((uint64_t)at + i) / SNAPSHOT_PAGE);
	return sum;
}

int snapshot_sum(int fd, char sum[65], struct error *err)
{
	AUTO_FREE unsigned char *bytes = xmalloc(READ_BYTES + SNAPSHOT_PAGE);
	off_t end = lseek(fd, 0, SEEK_END), at = 0;
	uint64_t total = 0;

	while (at < end) {
		ssize_t n;

		at = lseek(fd, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			break;
		if (at < 0)
			return error_set(err, errno, "snapshot");
		at -= at % SNAPSHOT_PAGE;
		n = pread(fd, bytes, READ_BYTES, at);
		if (n < 0)
			return error_set(err, errno, "snapshot");
		if (n == 0)
			break;
		total += sum_bytes(bytes, (size_t)n, at);
		at += n;
	}
	text_format(sum, 65, "%016llx", (unsigned long long)total);
	return 0;
}

static int damaged(struct error *err, const char *name, const char *how)
{
	char text[80];

	text_format(text, sizeof(text), "%s %s", name, how);
	return snapshot_refuse(err, EBADMSG, text);
}

static int check_file(int folder, const char *name,
		      const struct snapshot_file *noted, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct snapshot_file now = { 0 };
	struct stat st;

	if (fd < 0)
		return damaged(err, name, "is missing");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    snapshot_note(fd, &now, err) < 0)
		return damaged(err, name, "is not a file");
	if (now.size != noted->size)
		return damaged(err, name, "has another size");
	/* A copy, or somebody wrote to it: what is in it decides. The devices'
	 * is short enough to look each time. */
	if (now.inode == noted->inode && now.changed_ns == noted->changed_ns &&
	    strcmp(name, SNAPSHOT_STATE) != 0)
		return 0;
	if (snapshot_sum(fd, now.sum, err) < 0)
		return -1;
	return strcmp(now.sum, noted->sum) == 0
		       ? 0
		       : damaged(err, name, "has another content");
}

static int foreign(const struct snapshot *snapshot, const char *facts,
		   struct error *err)
{
	char text[400];

	if (!facts ||
	    snapshot_difference(snapshot->facts, facts, text, sizeof(text)) < 0)
		text_copy(text, sizeof(text),
			  "it was made by another version of QEMU or bawn, or "
			  "on another host");
	return snapshot_refuse(err, ESTALE, text);
}

static int check(int folder, const struct snapshot *snapshot, struct error *err)
{
	if (snapshot->ram.size != (uint64_t)snapshot->memory_mib << 20)
		return damaged(err, SNAPSHOT_RAM, "has another size");
	if (check_file(folder, SNAPSHOT_RAM, &snapshot->ram, err) < 0 ||
	    check_file(folder, SNAPSHOT_STATE, &snapshot->state, err) < 0)
		return -1;
	return 0;
}

int snapshot_load(int folder, const char *key, const char *facts,
		  struct snapshot *snapshot, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(SNAPSHOT_BYTES_MAX);

	*snapshot = (struct snapshot){ 0 };
	if (fileio_read(folder, SNAPSHOT_FILE, &text, err) < 0)
		return -1;
	if (snapshot_parse(text.data, text.len, snapshot, err) < 0)
		return -1;
	if (key && strcmp(snapshot->key, key) != 0)
		foreign(snapshot, facts, err);
	else if (check(folder, snapshot, err) == 0)
		return 0;
	snapshot_release(snapshot);
	return -1;
}

/* Noted anew: whoever owns it now may have touched it. */
static int complete_file(int folder, const char *name,
			 struct snapshot_file *file, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "%s", name);
	if (snapshot_note(fd, file, err) < 0 ||
	    (!file->sum[0] && snapshot_sum(fd, file->sum, err) < 0))
		return -1;
	return fsync(fd) < 0 ? error_set(err, errno, "%s", name) : 0;
}

int snapshot_complete(int folder, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(SNAPSHOT_BYTES_MAX);
	AUTO_FREE char *whole = NULL;
	struct snapshot snapshot;

	if (fileio_read(folder, SNAPSHOT_FILE, &text, err) < 0 ||
	    snapshot_parse(text.data, text.len, &snapshot, err) < 0)
		return -1;
	if (complete_file(folder, SNAPSHOT_RAM, &snapshot.ram, err) == 0 &&
	    complete_file(folder, SNAPSHOT_STATE, &snapshot.state, err) == 0 &&
	    complete_file(folder, SNAPSHOT_DISK, &snapshot.disk, err) == 0)
		whole = snapshot_encode(&snapshot);
	snapshot_release(&snapshot);
	if (!whole)
		return -1;
	return fileio_replace(folder, SNAPSHOT_FILE, whole, strlen(whole), 0400,
			      FILEIO_SYNC, err);
}
