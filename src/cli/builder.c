/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builder.c - the sandbox in which templates are built
 */
#include "cli/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/create.h"
#include "cli/halt.h"
#include "cli/location.h"
#include "cli/plan.h"
#include "cli/progress_view.h"
#include "cli/relay.h"
#include "cli/removal.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/start.h"
#include "cli/stream.h"
#include "state/paths.h"
#include "tree/tree_copy.h"
#include "tree/tree_walk.h"

#define LOCK_FILE "builder.lock"
#define COPY_NAME "template-copy"
#define ALONE_NAME "template-vendor"
#define ALONE_LOCK_FILE "vendor.lock"
#define GRACE_MS 10000

AUTO_DEFINE(json, json_t *, json_decref)

static int take_lock(const char *name, struct error *err)
{
	AUTO_CLOSE int folder = paths_open(PATHS_STATE, NULL, err);
	int lock;

	if (folder < 0)
		return -1;
	lock = fileio_lock(folder, name, FILEIO_LOCK_TRY, err);
	if (lock >= 0 || err->code != EWOULDBLOCK)
		return lock;
	fprintf(stderr, "bawn: waiting for another build\n");
	return fileio_lock(folder, name, FILEIO_LOCK_WAIT, err);
}

static int make(struct builder *builder, const char *name,
		const char *template_name, const struct rule_words *rules,
		struct error *err)
{
	/* NULL is the default template */
	AUTO_FREE char *template =
		template_name ? xstrdup(template_name) : NULL;
	struct request request = { .agent = REQUEST_DEFAULT_AGENT,
				   .name = name,
				   .template_name = template,
				   .pull = TEMPLATE_PULL_MISSING };
	AUTO(json) json_t *variables = json_object();
	AUTO_PLAN struct plan plan = { 0 };
	AUTO_START struct start start = START_INIT;
	struct created created;

	if (rules) {
		request.preset = "deny-all";
		request.rules = *rules;
	}
	if (plan_new(&request, &plan, err) < 0 ||
	    create_sandbox(&builder->store, &request, &plan, variables,
			   &builder->sandbox, &created, err) < 0)
		return -1;
	/* with the plan: it has the warm image */
	return start_sandbox(&builder->sandbox, &plan, START_WAIT, &start, err);
}

int builder_open(struct builder *builder, struct error *err)
{
	struct error missing = { 0 };

	builder->lock = take_lock(LOCK_FILE, err);
	if (builder->lock < 0 || store_open(&builder->store, err) < 0)
		return -1;
	if (store_find(&builder->store, BUILDER_NAME, &builder->sandbox,
		       &missing) < 0) {
		if (missing.code == ENOENT)
			return make(builder, BUILDER_NAME, NULL, NULL, err);
		*err = missing;
		return -1;
	}
	/* A folder of the user's has no place where others' files run. */
	if (builder->sandbox.record.shares.count)
		return error_set(err, 0,
				 "sandbox " BUILDER_NAME
				 " shares a folder: it is not the one that "
				 "builds templates (remove it, or give it "
				 "another name)");
	return 0;
}

int builder_open_copy(struct builder *builder, const char *template_name,
		      struct error *err)
{
	builder->passing = COPY_NAME;
	if (store_open(&builder->store, err) < 0)
		return -1;
	/* one that a build which was killed left */
	(void)removal_of(&builder->store, COPY_NAME, NULL);
	return make(builder, COPY_NAME, template_name, NULL, err);
}

int builder_open_alone(struct builder *builder, const char *template_name,
		       char *const *rules, struct error *err)
{
	AUTO_RULE_WORDS struct rule_words words = RULE_WORDS_INIT;

	for (; *rules; rules++) {
		if (rule_words_add(&words, *rules, RULE_ALLOW, NULL, err) < 0)
			return -1;
	}
	/* Not the builder's: one that is under way may need this one. */
	builder->lock = take_lock(ALONE_LOCK_FILE, err);
	if (builder->lock < 0 || store_open(&builder->store, err) < 0)
		return -1;
	builder->passing = ALONE_NAME;
	(void)removal_of(&builder->store, ALONE_NAME, NULL);
	return make(builder, ALONE_NAME, template_name, &words, err);
}

int builder_spool(struct error *err)
{
	AUTO_FREE char *path = paths_of(PATHS_CACHE, NULL, err);
	AUTO_CLOSE int folder = paths_open(PATHS_CACHE, NULL, err);
	int fd;

	if (!path || folder < 0)
		return -1;
	fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : error_set(err, errno, "%s", path);
}

void builder_close(struct builder *builder)
{
	struct error err = { 0 };

	if (builder->passing && builder->sandbox.folder >= 0)
		(void)removal_of(&builder->store, builder->passing, &err);
	else if (builder->sandbox.folder >= 0 &&
		 halt_folder(builder->sandbox.folder, GRACE_MS, &err) < 0)
		fprintf(stderr, "bawn: stopping " BUILDER_NAME ": %s\n",
			err.text);
	sandbox_close(&builder->sandbox);
	store_close(&builder->store);
	if (builder->lock >= 0)
		close(builder->lock);
}

/* ---- files ---- */

static int put(void *ctx, const void *bytes, size_t len, struct error *err)
{
	return stream_write(ctx, bytes, len, err);
}

static void skipped(void *ctx, const char *path, const char *why)
{
	char shown[256];

	text_printable(path, strlen(path), shown, sizeof(shown));
	progress_view_clear();
	fprintf(stderr, "bawn: %s: %s\n", shown, why);
}

int builder_send(struct builder *builder, const char *host_path,
		 const char *guest_path, struct error *err)
{
	const char *args[] = { "copy-in", guest_path, NULL };
	AUTO_STREAM struct stream stream = STREAM_INIT;
	struct tree_walk_setup setup = { .put = put,
					 .skipped = skipped,
					 .ctx = &stream };
	AUTO_PLACE struct location_place place = PLACE_INIT;
	int result;

	if (location_place(host_path, &builder->store, &place, err) < 0 ||
	    stream_open(&stream, &builder->sandbox, args, err) < 0)
		return -1;
	result = tree_pack(&place.tree, &setup, err);
	/* the tool's own words are better than "broken pipe" */
	if (result == 0 || stream.exited)
		result = stream_finish(&stream, err);
	return result;
}

/* ---- programs ---- */

struct taken {
	const struct builder_io *io;
	uint64_t left; /* more than this is no content of its disk */
};

static long take(void *ctx, bool is_error, uint8_t *bytes, size_t len,
		 struct error *err)
{
	struct taken *taken = ctx;
	const struct builder_io *io = taken->io;

	if (is_error || (io->out < 0 && !io->text))
		return io->quiet ? 0 : (long)len;
	if (len > taken->left)
		return error_set(err, EFBIG, "the builder's answer");
	taken->left -= len;
	if (io->text)
		return buffer_append(io->text, bytes, len) < 0
			       ? error_set(err, EFBIG, "the builder's answer")
			       : 0;
	return fileio_write_all(io->out, bytes, len, err) < 0 ? -1 : 0;
}

/* A session reads our stdin: for its time that is another file. */
static int swap_stdin(int with, struct error *err)
{
	AUTO_CLOSE int old = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	if (old < 0 || dup2(with, STDIN_FILENO) < 0)
		return error_set(err, errno, "stdin");
	return TAKE_FD(old);
}

static int run_session(struct builder *builder, const char *const *argv,
		       const struct session_wish *wish, struct error *err)
{
	for (;;) {
		AUTO_START struct start start = START_INIT;
		int result;

		if (start_sandbox(&builder->sandbox, NULL, START_NO_WAIT,
				  &start, err) < 0)
			return -1;
		result = session_exec(&builder->sandbox, &start, argv, wish,
				      err);
		if (result >= 0 ||
		    !start_was_ending(&builder->sandbox, &start, err))
			return result;
	}
}

int builder_run(struct builder *builder, const char *const *argv,
		const struct builder_io *io, struct error *err)
{
	AUTO(json)
	json_t *variables = json_pack("{s:s}", "DOCKER_BUILDKIT", "1");
	bool terminal = io->terminal && isatty(0) && isatty(1) && isatty(2);
	struct taken taken = { .io = io,
			       .left = 2 * builder->sandbox.record.disk_bytes };
	struct relay_filter filter = { .take = take, .ctx = &taken };
	struct session_wish wish = { .variables = variables,
				     .user = "root",
				     .folder = "/",
				     .tty = terminal,
				     .forward_stdin = terminal || io->in >= 0,
				     .filter = terminal ? NULL : &filter };
	AUTO_CLOSE int old = -1;
	int result;

	progress_view_clear();
	if (io->in >= 0) {
		old = swap_stdin(io->in, err);
		if (old < 0)
			return -1;
	}
	result = run_session(builder, argv, &wish, err);
	if (old >= 0 && dup2(old, STDIN_FILENO) < 0)
		return error_set(err, errno, "stdin");
	return result;
}
