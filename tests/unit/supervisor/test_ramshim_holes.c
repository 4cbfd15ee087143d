/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ramshim_holes.c - a file that is mapped privately, and its holes
 */
#include "supervisor/ramshim_holes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tap.h"

#define MIB (1u << 20)
#define BYTES ((size_t)64 * MIB)
#define RIGHTS (PROT_READ | PROT_WRITE)

static int new_file(void)
{
	char name[] = "/var/tmp/bawn-holes-XXXXXX";
	int fd = mkstemp(name);

	CHECK(fd >= 0 && unlink(name) == 0 && ftruncate(fd, BYTES) == 0);
	return fd;
}

static void put(int fd, size_t at, const char *text)
{
	CHECK(pwrite(fd, text, strlen(text), (off_t)at) ==
	      (ssize_t)strlen(text));
}

static char *map(int fd)
{
	char *memory = mmap(NULL, BYTES, RIGHTS, MAP_PRIVATE, fd, 0);

	CHECK(memory != MAP_FAILED);
	CHECK(holes_map(memory, BYTES, RIGHTS, fd) == 0);
	return memory;
}

/* True: writing to the page has brought the file's own into memory. */
static bool costs_the_file_a_page(int fd, char *memory, size_t at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char there = 0;
	void *shared;

	memory[at] = 'w';
	at = at / page * page;
	shared = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)at);
	CHECK(shared != MAP_FAILED && mincore(shared, page, &there) == 0);
	munmap(shared, page);
	return there & 1;
}

static void content_stays_and_the_rest_is_zeros(void)
{
	const size_t places[] = { 0, 10u * MIB, 30u * MIB + 5, BYTES - 3 };
	int fd = new_file();
	size_t other = 0;
	char *memory;

	for (size_t i = 0; i < 4; i++)
		put(fd, places[i], "abc");
	memory = map(fd);
	for (size_t i = 0; i < 4; i++) {
		CHECK(!memcmp(memory + places[i], "abc", 3));
		memset(memory + places[i], 0, 3);
	}
	for (size_t i = 0; i < BYTES; i++)
		other += memory[i] != 0;
	CHECK(other == 0);
	munmap(memory, BYTES);
	close(fd);
}

static void long_holes_are_not_the_files(void)
{
	int fd = new_file();
	char *memory;

	put(fd, 10 * MIB, "abc");
	put(fd, 12 * MIB, "abc");
	memory = map(fd);
	CHECK(!costs_the_file_a_page(fd, memory, 5 * MIB));
	CHECK(!costs_the_file_a_page(fd, memory, 40 * MIB));
	CHECK(!costs_the_file_a_page(fd, memory, BYTES - 1));
	/* by this ram_map.c finds it */
	CHECK(costs_the_file_a_page(fd, memory, MIB));
	/* not worth it */
	CHECK(costs_the_file_a_page(fd, memory, 11 * MIB));
	munmap(memory, BYTES);
	close(fd);
}

static void what_is_written_stays_private(void)
{
	int fd = new_file();
	char *memory = map(fd), byte = 'x';

	memory[40 * MIB] = 'w';
	CHECK(pread(fd, &byte, 1, 40 * MIB) == 1 && byte == 0);
	munmap(memory, BYTES);
	close(fd);
}

static void a_file_that_is_full_is_left_alone(void)
{
	int fd = new_file();
	char block[4096];
	char *memory;

	memset(block, 'f', sizeof(block));
	for (size_t at = 0; at < BYTES; at += sizeof(block))
		CHECK(pwrite(fd, block, sizeof(block), (off_t)at) ==
		      (ssize_t)sizeof(block));
	memory = map(fd);
	for (size_t at = 0; at < BYTES; at += sizeof(block))
		CHECK(!memcmp(memory + at, block, sizeof(block)));
	munmap(memory, BYTES);
	close(fd);
}

int main(void)
{
	RUN(content_stays_and_the_rest_is_zeros);
	RUN(long_holes_are_not_the_files);
	RUN(what_is_written_stays_private);
	RUN(a_file_that_is_full_is_left_alone);
	return DONE();
}
