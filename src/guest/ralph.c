/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ralph.c - `ralph` in the guest: the loop's files, for agents and people
 */
#include "guest/ralph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/flat_json.h"
#include "guest/mcp_stdio.h"
#include "loop/ralph_folder.h"
#include "loop/tasks.h"

#define TASKS_FILE RALPH_FOLDER "/" RALPH_TASKS
#define STATE_FILE RALPH_FOLDER "/" RALPH_STATE
#define STATE_MAX ((size_t)2 * 1024 * 1024)
#define BINARY "/run/bawn/ralph"
#define USAGE 64
#define FAILURE 125

static const char help[] =
	"usage: ralph --status [--tasks]   how the loop stands\n"
	"       ralph --list-tasks\n"
	"       ralph --add-task TEXT\n"
	"       ralph --remove-task N\n"
	"       ralph --add-context TEXT   say something to the next "
	"iteration\n"
	"       ralph --clear-context\n"
	"\n"
	"The loop itself runs on the host (`bawn loop`); these are its files "
	"in\n"
	".ralph of the workspace.\n";

struct wish {
	bool status, tasks, list, clear;
	const char *add_task, *remove_task, *add_context;
};

bool ralph_is_meant(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && !strcmp(slash ? slash + 1 : argv0, "ralph");
}

static int print_tasks(int workspace, struct error *err)
{
	static const char marks[] = { ' ', '/', 'x' };
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	AUTO_TASKS struct task_list list = TASK_LIST_INIT;
	int got = ralph_read(workspace, TASKS_FILE, &text, err);

	if (got < 0 ||
	    (text.len && tasks_parse_markdown((const char *)text.data, text.len,
					      &list, err) < 0))
		return -1;
	for (size_t i = 0; i < list.count; i++)
		printf("%3zu [%c] %s: %s\n", i + 1, marks[list.items[i].state],
		       list.items[i].id, list.items[i].title);
	if (!list.count)
		puts("no tasks");
	return 0;
}

static void print_value(const struct buffer *text, const char *name,
			const char *key)
{
	char value[512];

	if (flat_json_find((const char *)text->data, text->len, key, value,
			   sizeof(value)) == 0 &&
	    value[0])
		printf("%-10s %s\n", name, value);
}

static int print_status(int workspace, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(STATE_MAX);
	char iteration[32] = "?", max[32] = "?";
	int got = ralph_read(workspace, STATE_FILE, &text, err);

	if (got < 0)
		return -1;
	if (!got || !text.len) {
		puts("no loop has run here");
		return 0;
	}
	(void)flat_json_find((const char *)text.data, text.len, "iteration",
			     iteration, sizeof(iteration));
	(void)flat_json_find((const char *)text.data, text.len, "maxIterations",
			     max, sizeof(max));
	print_value(&text, "loop", "name");
	print_value(&text, "agent", "agent");
	print_value(&text, "status", "status");
	print_value(&text, "detail", "detail");
	printf("%-10s %s of at most %s\n", "iteration", iteration, max);
	print_value(&text, "started", "startedAt");
	print_value(&text, "cost USD", "costUsd");
	return 0;
}

static int change_tasks(int workspace, const struct wish *wish,
			struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	AUTO_BUFFER struct buffer changed = BUFFER_INIT(TASKS_BYTES_MAX);
	uint64_t number = 0;
	const char *bytes;
	int failed;

	if (wish->remove_task &&
	    text_to_u64(wish->remove_task, 1, TASKS_MAX, &number) < 0)
		return error_set(err, 0, "--remove-task takes a number");
	if (ralph_read(workspace, TASKS_FILE, &text, err) < 0)
		return -1;
	if (!text.len && wish->add_task)
		(void)buffer_printf(&text, "# Tasks\n\n");
	bytes = text.len ? (const char *)text.data : "";
	failed = wish->add_task
			 ? tasks_add(bytes, text.len, wish->add_task, &changed)
			 : tasks_remove(bytes, text.len, (size_t)number,
					&changed);
	if (failed < 0)
		return error_set(err, 0, "%s",
				 wish->add_task ? "the list of tasks is full"
						: "there is no such task");
	return ralph_write(workspace, RALPH_TASKS, changed.data, changed.len,
			   err);
}

/* -1: that is no way to call it. */
static int parse(int argc, char **argv, struct wish *wish)
{
	const struct {
		const char *name;
		bool *flag;
		const char **value;
	} rows[] = {
		{ "--status", &wish->status, NULL },
		{ "--tasks", &wish->tasks, NULL },
		{ "--list-tasks", &wish->list, NULL },
		{ "--clear-context", &wish->clear, NULL },
		{ "--add-task", NULL, &wish->add_task },
		{ "--remove-task", NULL, &wish->remove_task },
		{ "--add-context", NULL, &wish->add_context },
	};

	for (int i = 1; i < argc; i++) {
		size_t row = 0;

		while (row < ARRAY_SIZE(rows) &&
		       strcmp(argv[i], rows[row].name) != 0)
			row++;
		if (row == ARRAY_SIZE(rows) ||
		    (rows[row].value && i + 1 == argc))
			return -1;
		if (rows[row].flag)
			*rows[row].flag = true;
		else
			*rows[row].value = argv[++i];
	}
	return argc > 1 ? 0 : -1;
}

static int carry_out(int workspace, const struct wish *wish, struct error *err)
{
	if ((wish->add_task || wish->remove_task) &&
	    change_tasks(workspace, wish, err) < 0)
		return -1;
	if (wish->clear && ralph_clear_context(workspace, err) < 0)
		return -1;
	if (wish->add_context &&
	    ralph_add_context(workspace, wish->add_context, err) < 0)
		return -1;
	if (wish->status && print_status(workspace, err) < 0)
		return -1;
	return wish->list || wish->tasks ? print_tasks(workspace, err) : 0;
}

/* Here, or where the sandbox's work is. */
static int open_workspace(struct error *err)
{
	const char *place = getenv("WORKSPACE_DIR");
	struct stat st;

	if (!place || lstat(RALPH_FOLDER, &st) == 0)
		place = ".";
	return ralph_workspace_open(place, err);
}

int ralph_run(int argc, char **argv)
{
	AUTO_CLOSE int workspace = -1;
	struct wish wish = { .status = false };
	struct error err = { 0 };

	if (argc == 2 &&
	    (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return 0;
	}
	if (parse(argc, argv, &wish) < 0) {
		fputs(help, stderr);
		return USAGE;
	}
	workspace = open_workspace(&err);
	if (workspace >= 0 && carry_out(workspace, &wish, &err) == 0)
		return 0;
	fprintf(stderr, "ralph: %s\n", err.text);
	return FAILURE;
}

/* Our own binary once more, where every user may run it. */
void ralph_install(void)
{
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to = open(
		BINARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0755);
	static const char *const names[] = { RALPH_PATH, MCP_STDIO_PATH };
	struct error err = { 0 };

	if (from < 0 || to < 0) {
		log_debug("ralph: %s", strerror(errno));
		return;
	}
	if (fileio_copy_sparse(from, to, &err) < 0) {
		log_debug("ralph: %s", err.text);
		unlink(BINARY);
		return;
	}
	(void)mkdir("/usr/local", 0755);
	(void)mkdir("/usr/local/bin", 0755);
	/* a template's own comes first */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (symlink(BINARY, names[i]) < 0 && errno != EEXIST)
			log_debug("%s: %s", names[i], strerror(errno));
}
