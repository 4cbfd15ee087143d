/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dirtier.c - a guest's program that uses memory, writes to it all the time and
 * counts milliseconds
 *
 * usage: dirtier MEGABYTES MEGABYTES_A_SECOND; writes one byte each millisecond.
 * At 0 megabytes a second it only holds the memory.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define STEP_NS 1000000L

int main(int argc, char **argv)
{
	size_t bytes = argc > 2 ? strtoul(argv[1], NULL, 10) << 20 : 0;
	size_t step = argc > 2 ? strtoul(argv[2], NULL, 10) * 1000 : 0, at = 0;
	char *memory = malloc(bytes + PAGE);
	struct timespec next;

	if (!bytes || !memory)
		return 2;
	/* No page is like another, or like zero. */
	for (size_t i = 0; i < bytes; i += sizeof(i))
		memcpy(memory + i, &i, sizeof(i));
	while (!step && write(1, ".", 1) == 1)
		pause();
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (write(1, ".", 1) == 1) {
		for (size_t done = 0; done < step; done += PAGE) {
			memory[at]++;
			at = (at + PAGE) % bytes;
		}
		next.tv_nsec += STEP_NS;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0;
}
