/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_halt.c - the end of a machine that is ending anyway
 */
#include "cli/halt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cli/store.h"
#include "lib/tap.h"

static char path[] = "/tmp/bawn-halt-XXXXXX";
static int folder = -1;

/* A supervisor that has closed its socket and ends a moment later. */
static pid_t start_ending(void)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	struct error err = { 0 };
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (fileio_lock(folder, STORE_ALIVE_FILE, FILEIO_LOCK_TRY,
				&err) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		nanosleep(&moment, NULL);
		_exit(0);
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	return pid;
}

static void what_is_about_to_end_counts_as_ended(void)
{
	struct error err = { 0 };
	pid_t pid = start_ending();
	int status;

	CHECK(pid > 0);
	CHECK(fileio_is_locked(folder, STORE_ALIVE_FILE) == 1);
	CHECK(halt_suspend(folder, &err) == 0);
	CHECK(fileio_is_locked(folder, STORE_ALIVE_FILE) != 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void where_nothing_runs_there_is_nothing_to_do(void)
{
	struct error err = { 0 };

	CHECK(halt_suspend(folder, &err) == 0);
	CHECK(halt_folder(folder, 0, &err) == 0);
}

int main(void)
{
	if (!mkdtemp(path))
		return 1;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(folder, "machine", 0700) < 0)
		return 1;
	RUN(where_nothing_runs_there_is_nothing_to_do);
	RUN(what_is_about_to_end_counts_as_ended);
	close(folder);
	fileio_remove_tree(AT_FDCWD, path, NULL);
	return DONE();
}
