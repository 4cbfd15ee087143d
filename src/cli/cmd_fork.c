/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_fork.c - fork: several sandboxes that go on from one state
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/fork.h"
#include "cli/start.h"
#include "cli/store.h"

/* A process for each: they wait for their machines side by side. */
static pid_t start_one(const char *name)
{
	pid_t pid = fork();
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_START struct start start = START_INIT;
	struct error err = { 0 };

	if (pid != 0)
		return pid;
	if (sandbox_open(name, &sandbox, &err) < 0 ||
	    start_sandbox(&sandbox, NULL, START_WAIT, &start, &err) < 0) {
		fprintf(stderr, "bawn: %s\n", err.text);
		_exit(1);
	}
	_exit(0);
}

enum start_result { START_RUNS, START_ANSWERED, START_FAILED };

struct starts {
	char *const *names;
	unsigned count, started, ended, printed, failed;
	pid_t pids[FORK_CHILDREN_MAX];
	enum start_result results[FORK_CHILDREN_MAX];
};

static void note_end(struct starts *starts, unsigned i, bool ok)
{
	starts->results[i] = ok ? START_ANSWERED : START_FAILED;
	starts->ended++;
	starts->failed += !ok;
}

static void wait_for_one(struct starts *starts)
{
	int status = 1;
	pid_t pid = waitpid(-1, &status, 0);

	for (unsigned i = 0; i < starts->started; i++) {
		if (starts->results[i] == START_RUNS &&
		    (pid < 0 || starts->pids[i] == pid))
			note_end(starts, i, pid > 0 && status == 0);
	}
}

/* In their order, each as soon as it can be used. */
static void print_names(struct starts *starts)
{
	for (; starts->printed < starts->ended; starts->printed++) {
		enum start_result result = starts->results[starts->printed];

		if (result == START_RUNS)
			break;
		if (result == START_ANSWERED)
			printf("%s\n", starts->names[starts->printed]);
	}
	fflush(stdout);
}

/* As many at once as get a turn: they start in the order of their names. */
static int start_all(char *const *names, unsigned count, struct error *err)
{
	struct starts starts = { .names = names, .count = count };
	unsigned places = 1 + (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

	while (starts.ended < count) {
		while (starts.started < count &&
		       starts.started - starts.ended < places) {
			unsigned i = starts.started++;

			starts.pids[i] = start_one(names[i]);
			if (starts.pids[i] < 0)
				note_end(&starts, i, false);
		}
		if (starts.ended < starts.started)
			wait_for_one(&starts);
		print_names(&starts);
	}
	return starts.failed ? error_set(err, 0, "%u of %u did not start",
					 starts.failed, count)
			     : 0;
}

static int make_all(struct store *store, const struct fork_source *source,
		    char **names, unsigned count, struct error *err)
{
	unsigned next = 1;

	for (unsigned i = 0; i < count; i++) {
		if (!names[i])
			names[i] = fork_free_name(
				store, source->parent->record.name, &next);
		if (fork_make(store, source, names[i], err) < 0)
			return error_prefix(err, "%s", names[i]);
	}
	return 0;
}

/* Without --from: of what it is now, for this one purpose. */
static int find_state(const struct sandbox *parent, const char *label,
		      struct checkpoint *from, bool *ours, struct error *err)
{
	const struct checkpoint_wish wish = { .label = NULL };
	struct checkpoint_made made = { 0 };

	*ours = !label;
	if (!label) {
		if (checkpoint_make(parent, &wish, &made, err) < 0)
			return error_prefix(err, "checkpoint");
		label = made.label;
	}
	return checkpoint_find(parent, label, from, err);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_SANDBOX struct sandbox parent = SANDBOX_INIT;
	const char *number = options_value(options, "count");
	char *names[FORK_CHILDREN_MAX] = { NULL };
	struct checkpoint from;
	struct fork_source source = {
		.parent = &parent,
		.from = &from,
		.shares_workspace = options_flag(options, "share-workspace"),
	};
	AUTO_CLOSE int lock = -1;
	uint64_t count = 1;
	bool ours;
	int result;

	if (number && text_to_u64(number, 1, FORK_CHILDREN_MAX, &count) < 0)
		return options_usage(err, "-n takes a number from 1 to %d",
				     FORK_CHILDREN_MAX);
	if (options_value(options, "name") && count > 1)
		return options_usage(err, "--name is for one fork");
	if (store_open(&store, err) < 0 ||
	    store_find(&store, options->words[0], &parent, err) < 0)
		return -1;
	lock = fileio_lock(parent.folder, STORE_LOCK_FILE, FILEIO_LOCK_WAIT,
			   err);
	if (lock < 0 || find_state(&parent, options_value(options, "from"),
				   &from, &ours, err) < 0)
		return error_prefix(err, "forking %s", options->words[0]);
	if (options_value(options, "name"))
		names[0] = xstrdup(options_value(options, "name"));
	result = make_all(&store, &source, names, (unsigned)count, err);
	if (ours)
		checkpoint_remove(&parent, from.label, NULL);
	close(TAKE_FD(lock));
	if (result == 0)
		result = start_all(names, (unsigned)count, err);
	for (unsigned i = 0; i < count; i++)
		free(names[i]);
	return result;
}

static const struct option_row rows[] = {
	{ "count", 'n', OPTION_VALUE, "N", "so many forks (1)", NULL,
	  OPTION_HERE },
	{ "from", '\0', OPTION_VALUE, "LABEL",
	  "from this checkpoint instead of the state of now", COMPLETE_LABELS,
	  OPTION_HERE },
	{ "name", '\0', OPTION_VALUE, "NAME", "the fork's name", NULL,
	  OPTION_HERE },
	{ "share-workspace", '\0', OPTION_FLAG, NULL,
	  "forks write into the same folders (else over them)", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_fork = {
	.name = "fork",
	.arguments = "NAME",
	.help = "start new sandboxes from the state of one",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
