/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_checkpoint.c - a state before each iteration, to go back to
 *
 * The child says "+LABEL" when the machine goes on and "-WHY" when it failed;
 * it ends when all is on the disk. `bawn restore` is a process of its own, too:
 * it becomes another user where root undoes, which cannot be taken back.
 */
#include "cli/loop_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"

#define SELF "/proc/self/exe"
#define OUTPUT_MAX (256u * 1024)
#define LINE_BYTES 320
#define SPARE_MIB 1024

struct copier {
	int words;
	bool told;
};

static void say(int words, char kind, const char *text)
{
	char line[LINE_BYTES];

	(void)text_format(line, sizeof(line) - 1, "%c%.300s", kind, text);
	line[strcspn(line, "\n")] = '\0';
	(void)text_format(line + strlen(line), 2, "\n");
	(void)fileio_write_all(words, line, strlen(line), NULL);
}

static void went_on(void *ctx, const char *label)
{
	struct copier *copier = ctx;

	if (!copier->told)
		say(copier->words, '+', label);
	copier->told = true;
}

/* A full disk would stop the machine: better no checkpoint than that. */
static int check_room(const struct sandbox *sandbox, struct error *err)
{
	uint64_t wanted = (sandbox->record.memory_mib + SPARE_MIB) << 20;
	struct statvfs vfs;

	if (fstatvfs(sandbox->folder, &vfs) == 0 &&
	    (uint64_t)vfs.f_bavail * vfs.f_frsize < wanted)
		return error_set(err, ENOSPC,
				 "less than %llu MB are free on the disk",
				 (unsigned long long)wanted >> 20);
	return 0;
}

static int copy(const struct sandbox *sandbox, unsigned iteration,
		const char *mark, struct copier *copier, struct error *err)
{
	char prefix[32];
	const struct checkpoint_wish wish = { .prefix = prefix,
					      .kept = LOOP_CHECKPOINTS_KEPT,
					      .mark = mark[0] ? mark : NULL,
					      .at_once = true,
					      .went_on = went_on,
					      .ctx = copier };
	AUTO_CLOSE int held = fileio_lock(sandbox->folder, STORE_LOCK_FILE,
					  FILEIO_LOCK_WAIT, err);
	struct checkpoint_made made = { 0 };

	(void)text_format(prefix, sizeof(prefix), "loop-%u-", iteration);
	if (held < 0 || check_room(sandbox, err) < 0 ||
	    checkpoint_make(sandbox, &wish, &made, err) < 0)
		return -1;
	went_on(copier, made.label);
	return 0;
}

/* 1 and a line without its end; 0: there is none any more. */
static int next_line(int fd, char line[LINE_BYTES])
{
	size_t len = 0;

	while (len + 1 < LINE_BYTES) {
		ssize_t got = read(fd, line + len, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		if (line[len] == '\n') {
			line[len] = '\0';
			return 1;
		}
		len++;
	}
	return 0;
}

/* Takes what it says up to the next word that counts; 0: it has ended. */
static int listen_to(struct loop_checkpoint *checkpoint)
{
	char line[LINE_BYTES];

	if (checkpoint->words < 0 || !next_line(checkpoint->words, line))
		return 0;
	if (line[0] == '+')
		(void)text_copy(checkpoint->label, sizeof(checkpoint->label),
				line + 1);
	else
		(void)text_copy(checkpoint->failure,
				sizeof(checkpoint->failure), line + 1);
	return 1;
}

int loop_checkpoint_wait(struct loop_checkpoint *checkpoint, struct error *err)
{
	int status = 0;

	if (!checkpoint->pid)
		return 0;
	while (listen_to(checkpoint))
		;
	close(TAKE_FD(checkpoint->words));
	while (waitpid(checkpoint->pid, &status, 0) < 0 && errno == EINTR)
		;
	checkpoint->pid = 0;
	if (!status)
		return 0;
	checkpoint->label[0] = '\0';
	return error_set(err, 0, "checkpoint: %s",
			 checkpoint->failure[0] ? checkpoint->failure
						: "it was killed");
}

void loop_checkpoint_release(struct loop_checkpoint *checkpoint)
{
	(void)loop_checkpoint_wait(checkpoint, NULL);
}

static pid_t start_copier(const struct sandbox *sandbox, unsigned iteration,
			  const char *mark, int words, int lock)
{
	struct copier copier = { .words = words };
	struct error err = { 0 };
	pid_t pid;
	int failed;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	if (lock >= 0)
		close(lock);
	failed = copy(sandbox, iteration, mark, &copier, &err);
	if (failed)
		say(words, '-', err.text);
	_exit(failed ? 1 : 0);
}

int loop_checkpoint_begin(struct loop_checkpoint *checkpoint,
			  const struct sandbox *sandbox, unsigned iteration,
			  const char *mark, int lock, struct error *err)
{
	AUTO_CLOSE int theirs = -1;
	int ends[2];

	(void)loop_checkpoint_wait(checkpoint, NULL);
	checkpoint->label[0] = checkpoint->failure[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "checkpoint");
	checkpoint->words = ends[0];
	theirs = ends[1];
	checkpoint->pid = start_copier(sandbox, iteration, mark, theirs, lock);
	if (checkpoint->pid < 0) {
		checkpoint->pid = 0;
		close(TAKE_FD(checkpoint->words));
		return error_set(err, errno, "checkpoint");
	}
	close(TAKE_FD(theirs));
	if (listen_to(checkpoint) && checkpoint->label[0])
		return 0;
	return loop_checkpoint_wait(checkpoint, err) < 0
		       ? -1
		       : error_set(err, 0, "checkpoint: it said nothing");
}

int loop_checkpoint_restore(struct loop_checkpoint *checkpoint,
			    const struct sandbox *sandbox, struct error *err)
{
	bool direct = !strcmp(sandbox->record.mode, "direct");
	/* the disk has what another mode changed */
	const char *const argv[] = { "bawn",
				     "restore",
				     sandbox->record.name,
				     checkpoint->label,
				     direct ? "--workspace" : NULL,
				     NULL };
	/* Ctrl-C of a terminal is for the loop, which lets this one end */
	const struct child_spec spec = { .path = SELF,
					 .argv = argv,
					 .env = (const char *const *)environ,
					 .flags = CHILD_NULL_STDIO |
						  CHILD_NEW_SESSION };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);

	if (loop_checkpoint_wait(checkpoint, err) < 0)
		return -1;
	if (!checkpoint->label[0])
		return error_set(err, 0, "there is no checkpoint");
	if (child_run(&spec, &out, err) < 0)
		return error_prefix(err, "restore");
	return 0;
}
