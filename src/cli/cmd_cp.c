/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_cp.c - cp: files and folders into a sandbox and out of it
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/location.h"
#include "cli/progress_view.h"
#include "cli/store.h"
#include "cli/stream.h"
#include "tree/tree_copy.h"
#include "tree/tree_walk.h"
#include "tree/tree_write.h"

#define ENTRIES_MAX (4u * 1000 * 1000)
#define READ_BYTES (64u * 1024)
#define QUIET_MS 1000

struct copy {
	struct stream stream;
	struct store store;
	struct sandbox sandbox;
	uint64_t begun_ms, bytes;
	bool shown;
};

/* On a terminal, and only when it takes longer than a moment. */
static void show_progress(struct copy *copy, size_t more)
{
	char text[64], size[32];

	copy->bytes += more;
	if (!isatty(2) || loop_now_ms() - copy->begun_ms < QUIET_MS)
		return;
	text_from_size(copy->bytes, size, sizeof(size));
	text_format(text, sizeof(text), "copied %s", size);
	if (!copy->shown)
		progress_step(progress_view(), "copying");
	copy->shown = true;
	progress_view_retitle(text);
	progress_update(progress_view(), 0, 0);
}

static int put(void *ctx, const void *bytes, size_t len, struct error *err)
{
	struct copy *copy = ctx;

	show_progress(copy, len);
	return stream_write(&copy->stream, bytes, len, err);
}

static void skipped(void *ctx, const char *path, const char *why)
{
	char shown[256];

	text_printable(path, strlen(path), shown, sizeof(shown));
	progress_view_clear();
	fprintf(stderr, "bawn: %s: %s\n", shown, why);
}

static int send_tree(struct copy *copy, const char *path, struct error *err)
{
	struct tree_walk_setup setup = { .put = put,
					 .skipped = skipped,
					 .ctx = copy };
	AUTO_PLACE struct location_place place = PLACE_INIT;

	if (location_place(path, &copy->store, &place, err) < 0)
		return -1;
	return tree_pack(&place.tree, &setup, err);
}

static int send_stdin(struct copy *copy, struct error *err)
{
	static uint8_t bytes[READ_BYTES];

	for (;;) {
		ssize_t got;

		if (stream_wait_for(&copy->stream, STDIN_FILENO, err) < 0)
			return -1;
		got = read(STDIN_FILENO, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "stdin");
		if (!got)
			return 0;
		if (put(copy, bytes, (size_t)got, err) < 0)
			return -1;
	}
}

static int copy_in(struct copy *copy, const struct location *from,
		   const struct location *to, struct error *err)
{
	bool pipe = from->kind == LOCATION_PIPE;
	const char *args[] = { pipe ? "tar-in" : "copy-in", to->path, NULL };
	int result;

	if (pipe && isatty(STDIN_FILENO))
		return options_usage(err, "stdin is a terminal: `-` takes a "
					  "tar archive from a pipe");
	if (stream_open(&copy->stream, &copy->sandbox, args, err) < 0)
		return -1;
	result =
		pipe ? send_stdin(copy, err) : send_tree(copy, from->path, err);
	/* the tool's own words are better than "broken pipe" */
	if (result == 0 || copy->stream.exited)
		result = stream_finish(&copy->stream, err);
	return result;
}

static int receive_pipe(struct copy *copy, struct error *err)
{
	const uint8_t *bytes;
	size_t len;
	int got;

	while ((got = stream_read(&copy->stream, &bytes, &len, err)) > 0) {
		if (stream_pass_on(&copy->stream, STDOUT_FILENO, bytes, len,
				   err) < 0)
			return error_prefix(err, "stdout");
		show_progress(copy, len);
	}
	return got < 0 ? -1 : stream_finish(&copy->stream, err);
}

static int receive(struct copy *copy, struct tree_unpack *unpack,
		   struct error *err)
{
	const uint8_t *bytes;
	size_t len;
	int got;

	while ((got = stream_read(&copy->stream, &bytes, &len, err)) > 0) {
		if (tree_unpack_feed(unpack, bytes, len, err) < 0)
			return -1;
		show_progress(copy, len);
	}
	/* first what went wrong there: then the archive is cut off as well */
	if (got < 0 || stream_finish(&copy->stream, err) < 0)
		return -1;
	return tree_unpack_finish(unpack, err);
}

static int receive_tree(struct copy *copy, const char *path, struct error *err)
{
	AUTO_PLACE struct location_place place = PLACE_INIT;
	struct tree_unpack_setup setup = {
		.owner = TREE_OWNER_SAME,
		.limits = { .entries = ENTRIES_MAX,
			    /* more than this is no content of its disk */
			    .bytes = 2 * copy->sandbox.record.disk_bytes },
	};
	struct tree_unpack *unpack;
	int result;

	if (location_place(path, &copy->store, &place, err) < 0)
		return -1;
	setup.place = place.tree;
	unpack = tree_unpack_new(&setup);
	result = receive(copy, unpack, err);
	tree_unpack_free(unpack);
	return result;
}

static int copy_out(struct copy *copy, const struct location *from,
		    const struct location *to, struct error *err)
{
	const char *args[] = { "tar-out", from->path, NULL };

	if (to->kind == LOCATION_PIPE && isatty(STDOUT_FILENO))
		return options_usage(err, "stdout is a terminal: `-` writes a "
					  "tar archive to a pipe");
	if (stream_open(&copy->stream, &copy->sandbox, args, err) < 0)
		return -1;
	stream_end_input(&copy->stream);
	return to->kind == LOCATION_PIPE ? receive_pipe(copy, err)
					 : receive_tree(copy, to->path, err);
}

static int run_copy(struct copy *copy, const struct location *from,
		    const struct location *to, struct error *err)
{
	const char *name =
		from->kind == LOCATION_SANDBOX ? from->name : to->name;
	int result;

	if (store_open(&copy->store, err) < 0 ||
	    store_find(&copy->store, name, &copy->sandbox, err) < 0)
		return -1;
	copy->begun_ms = loop_now_ms();
	result = from->kind == LOCATION_SANDBOX ? copy_out(copy, from, to, err)
						: copy_in(copy, from, to, err);
	if (copy->shown)
		progress_done(progress_view());
	return result;
}

static int run(const struct options *options, struct error *err)
{
	struct copy copy = { .stream = STREAM_INIT,
			     .store = STORE_INIT,
			     .sandbox = SANDBOX_INIT };
	struct location from, to;
	int result;

	if (location_parse(options->words[0], &from, err) < 0 ||
	    location_parse(options->words[1], &to, err) < 0)
		return -1;
	if ((from.kind == LOCATION_SANDBOX) == (to.kind == LOCATION_SANDBOX))
		return options_usage(err, "one side must be NAME:PATH, and "
					  "only one");
	result = run_copy(&copy, &from, &to, err);
	stream_close(&copy.stream);
	sandbox_close(&copy.sandbox);
	store_close(&copy.store);
	return result < 0 && stream_signal() ? 128 + stream_signal() : result;
}

const struct command command_cp = {
	.name = "cp",
	.arguments = "NAME:PATH PATH|- or PATH|- NAME:PATH",
	.help = "copy files and folders into a sandbox or out of it",
	.details = "PATH/. copies what is in a folder. - is a tar archive on "
		   "stdin or stdout.\nA sandbox that is stopped is started. "
		   "Links are copied as links and never followed.",
	.completes = COMPLETE_COPY,
	.flags = COMMAND_USES_STORE,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 1,
	.run = run,
};
