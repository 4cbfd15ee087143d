/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_alone.c - what the guest's first process does around a snapshot
 *
 * Prints "begun", waits for the end of its stdin, and ends when the shared
 * folders that are mounted here were written out.
 */
#include <stdio.h>
#include <unistd.h>

#include "guest/files_sync.h"

int main(void)
{
	struct files_sync sync;
	char byte;

	files_sync_begin(&sync);
	puts("begun");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	files_sync_end(&sync);
	return 0;
}
