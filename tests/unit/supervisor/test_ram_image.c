/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ram_image.c - the memory of a child that maps a file privately
 */
#include "supervisor/ram_image.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/snapshot.h"

#define PAGES 3000u
#define PAGE 4096u
#define BYTES ((size_t)PAGES * PAGE)

static char base_name[] = "/tmp/bawn-ram-XXXXXX";
static char out_name[] = "/tmp/bawn-ram-XXXXXX";
static uint64_t first_sum;

/* What the file has: every third page something, the rest holes. */
static int make_base(void)
{
	int fd = mkstemp(base_name);

	CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0);
	for (unsigned page = 0; page < PAGES; page += 3)
		CHECK(pwrite(fd, "file", 4, (off_t)page * PAGE) == 4);
	return fd;
}

/* As QEMU has long holes: both are holes, and will be written to. */
static void make_anonymous(char *memory)
{
	const unsigned pages[] = { 10, PAGES - 5 };

	for (unsigned i = 0; i < 2; i++)
		if (mmap(memory + (size_t)pages[i] * PAGE, PAGE,
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			_exit(1);
}

/* Every fifth page becomes the child's own; two are read only. */
static pid_t start_child(int base)
{
	int ends[2];
	char byte;
	pid_t pid;

	CHECK(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		char *whole = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE, base, 0);
		volatile char *memory = whole;

		make_anonymous(whole);
		for (unsigned page = 0; page < PAGES; page += 5)
			memory[(size_t)page * PAGE] = 'c';
		(void)memory[1 * PAGE];
		(void)memory[3 * PAGE];
		if (write(ends[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static bool begins_with(int fd, unsigned page, const char *want)
{
	char got[4];

	return pread(fd, got, 4, (off_t)page * PAGE) == 4 &&
	       memcmp(want, got, 4) == 0;
}

static void the_copy_is_what_the_child_sees(void)
{
	AUTO_CLOSE int base = make_base();
	AUTO_CLOSE int out = mkstemp(out_name);
	pid_t pid = start_child(base);
	struct ram_image image;
	struct error err = { 0 };
	char sum[65], noted[65];
	struct stat st;
	unsigned wrong = 0, turns = 0, ahead = 0;
	int more;

	CHECK(ram_image_begin(&image, pid, base, out, BYTES, &err) == 0);
	/* some of it twice: what was copied ahead may be old by now */
	CHECK(ram_image_through_memory(&image, &err) == 0);
	while ((more = ram_image_ahead(&image, 20 * PAGE, &err)) > 0)
		ahead++;
	CHECK(more == 0 && ahead > 0);
	CHECK(ram_image_take(&image, &err) == 0);
	CHECK(image.private == (PAGES + 4) / 5 * PAGE);
	/* in the order of the file, whosever pages they are */
	CHECK(ram_image_more(&image, 10 * PAGE, &err) == 1);
	CHECK(begins_with(out, 3, "file") && begins_with(out, 5, "c\0\0\0"));
	CHECK(begins_with(out, PAGES - 5, "\0\0\0\0"));
	while ((more = ram_image_more(&image, 10 * PAGE, &err)) > 0)
		turns++;
	CHECK(more == 0 && turns > 9);
	/* nobody need read it again */
	CHECK(snapshot_sum(out, sum, &err) == 0);
	snprintf(noted, sizeof(noted), "%016llx",
		 (unsigned long long)image.sum);
	CHECK(image.sum && strcmp(sum, noted) == 0);
	first_sum = image.sum;
	ram_image_release(&image);
	for (unsigned page = 0; page < PAGES; page++) {
		char want[4] = { 0 };

		if (page % 3 == 0)
			memcpy(want, "file", 4);
		if (page % 5 == 0)
			want[0] = 'c';
		wrong += !begins_with(out, page, want);
	}
	CHECK(wrong == 0);
	CHECK(fstat(out, &st) == 0 && st.st_size == (off_t)BYTES);
	/* holes stay holes */
	CHECK((size_t)st.st_blocks * 512 < BYTES * 3 / 4);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* As `stop` does it: from QEMU to the file at once. */
static void without_memory_between_it_is_the_same(void)
{
	AUTO_CLOSE int base = open(base_name, O_RDONLY);
	AUTO_CLOSE int out = open(out_name, O_RDWR | O_TRUNC);
	pid_t pid = start_child(base);
	struct ram_image image;
	struct error err = { 0 };
	char sum[65], noted[65];
	int more;

	CHECK(ram_image_begin(&image, pid, base, out, BYTES, &err) == 0);
	CHECK(ram_image_take(&image, &err) == 0);
	while ((more = ram_image_more(&image, BYTES, &err)) > 0)
		;
	CHECK(more == 0 && snapshot_sum(out, sum, &err) == 0);
	snprintf(noted, sizeof(noted), "%016llx",
		 (unsigned long long)image.sum);
	CHECK(image.sum == first_sum && strcmp(sum, noted) == 0);
	ram_image_release(&image);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_process_without_it_is_refused(void)
{
	AUTO_CLOSE int base = open(base_name, O_RDONLY);
	AUTO_CLOSE int out = open(out_name, O_RDWR);
	struct ram_image image;
	struct error err = { 0 };

	CHECK(ram_image_begin(&image, getpid(), base, out, BYTES, &err) == -1);
	CHECK(err.text[0]);
	ram_image_release(&image);
}

int main(void)
{
	RUN(the_copy_is_what_the_child_sees);
	RUN(without_memory_between_it_is_the_same);
	RUN(a_process_without_it_is_refused);
	unlink(base_name);
	unlink(out_name);
	return DONE();
}
