/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c - runs a fuzz target over its corpus without a fuzzer
 *
 * Each file as it is, each of its truncations, and a fixed number of
 * mutations from a fixed seed: the same inputs in every run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "lib/fuzz.h"

#define FILE_MAX_BYTES (1024u * 1024)
#define TRUNCATIONS_MAX 4096
#define MUTATIONS 500

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* In memory of exactly this size, so that a sanitizer sees each overrun. */
static void run_one(const uint8_t *data, size_t len)
{
	uint8_t *copy = xmalloc(len ? len : 1);

	if (len)
		memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void run_truncations(const uint8_t *data, size_t len)
{
	size_t step = len / TRUNCATIONS_MAX + 1;

	for (size_t cut = 0; cut < len; cut += step)
		run_one(data, cut);
}

static void mutate(uint8_t *data, size_t len)
{
	static const uint8_t interesting[] = { 0, 1, 0x7f, 0x80, 0xff, '"' };
	size_t changes = 1 + next_random() % 4;

	while (changes-- > 0) {
		uint64_t dice = next_random();
		uint8_t *at = &data[next_random() % len];

		if (dice & 1)
			*at = interesting[(dice >> 8) % sizeof(interesting)];
		else
			*at ^= (uint8_t)(1u << ((dice >> 8) % 8));
	}
}

static void run_mutations(const uint8_t *data, size_t len)
{
	uint8_t *copy = xmalloc(len ? len : 1);

	random_state = 0x9e3779b97f4a7c15u;
	for (int i = 0; i < MUTATIONS && len > 0; i++) {
		memcpy(copy, data, len);
		mutate(copy, len);
		run_one(copy, len);
	}
	free(copy);
}

static int run_file(int folder_fd, const char *name)
{
	AUTO_BUFFER struct buffer file = BUFFER_INIT(FILE_MAX_BYTES);
	struct error err;

	if (fileio_read(folder_fd, name, &file, &err) < 0) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		return -1;
	}
	printf("# %s\n", name);
	fflush(stdout);
	run_one(file.data, file.len);
	run_truncations(file.data, file.len);
	run_mutations(file.data, file.len);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	const struct dirent *entry;
	int files = 0, failed = 0;

	if (!folder) {
		fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
		return 2;
	}
	run_one(NULL, 0);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= run_file(dirfd(folder), entry->d_name) < 0;
		files++;
	}
	closedir(folder);
	printf("%d files\n", files);
	return failed || files == 0;
}
