/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_template_build.c - template build: a Dockerfile becomes a template
 *
 * The folder goes to the builder (builder.h) as an archive, its Docker builds
 * there, behind the builder's rules, and what `docker save` says is loaded like
 * any foreign archive.
 */
#include "cli/command.h"

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
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "cli/blocked.h"
#include "cli/build_bases.h"
#include "cli/builder.h"
#include "cli/progress_view.h"
#include "cli/stream.h"
#include "oci/dockerfile.h"
#include "provision/template_load.h"
#include "provision/template_pull.h"
#include "provision/template_tag.h"

#define WORK "/var/lib/bawn-build"
#define RESULT "bawn/build:latest"
#define ARGS_MAX 64
#define INTERRUPTED 128 /* exit codes from here on are signals */

struct build {
	const char *folder;
	char *file; /* owned */
	char name[REFERENCE_TEXT_MAX];
	struct builder builder;
};

static void build_release(struct build *build)
{
	free(build->file);
	builder_close(&build->builder);
}
#define AUTO_BUILD __attribute__((cleanup(build_release)))

/* What is wrong on this side is said before anything starts. */
static int prepare(const struct options *options, struct build *build,
		   struct error *err)
{
	const char *file = options_value(options, "file");
	const char *tag = options_value(options, "tag");
	AUTO_FREE char *whole = realpath(options->words[0], NULL);
	struct reference reference;
	struct stat st;

	build->folder = options->words[0];
	if (!whole || stat(whole, &st) < 0)
		return error_set(err, errno, "%s", build->folder);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ENOTDIR, "%s", build->folder);
	build->file = file ? xstrdup(file)
			   : xasprintf("%s/Dockerfile", build->folder);
	if (stat(build->file, &st) < 0)
		return error_set(err, errno, "%s%s", build->file,
				 file ? "" : " (-f names another)");
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s is no file", build->file);
	if (tag)
		snprintf(build->name, sizeof(build->name), "%s", tag);
	else
		template_load_name(whole, build->name);
	if (reference_parse(build->name, &reference, err) < 0)
		return -1;
	if (template_is_plain(build->name) ||
	    template_is_confusing(&reference) || reference.digest[0])
		return error_set(err, 0,
				 "%s cannot be the name of an image "
				 "(-t gives it one)",
				 build->name);
	return 0;
}

static int send(struct build *build, struct error *err)
{
	static const char *const clear[] = { "sh", "-c",
					     "rm -rf " WORK " && mkdir " WORK,
					     NULL };
	struct builder_io io = BUILDER_IO_INIT;
	int code = builder_run(&build->builder, clear, &io, err);

	if (code)
		return code < 0 ? -1 : error_set(err, 0, "no room to build");
	progress_step(progress_view(), "sending the folder to the builder");
	if (builder_send(&build->builder, build->folder, WORK "/context", err) <
		    0 ||
	    builder_send(&build->builder, build->file, WORK "/Dockerfile",
			 err) < 0)
		return -1;
	progress_done(progress_view());
	return 0;
}

/* Read where it was sent to: only what may leave the host is there. */
static int bring_bases(struct build *build, struct error *err)
{
	static const char *const read[] = { "cat", WORK "/Dockerfile", NULL };
	AUTO_BUFFER struct buffer text = BUFFER_INIT(DOCKERFILE_MAX);
	AUTO_FREE struct dockerfile_bases *bases = xcalloc(1, sizeof(*bases));
	struct builder_io io = BUILDER_IO_INIT;
	int code;

	io.text = &text;
	code = builder_run(&build->builder, read, &io, err);
	if (code)
		return code < 0 ? error_prefix(err, "%s", build->file)
				: error_set(err, 0, "%s is lost", build->file);
	dockerfile_find_bases((const char *)text.data, text.len, bases);
	return build_bases_bring(&build->builder, bases, err);
}

static int list_arguments(const struct options *options,
			  const char *argv[ARGS_MAX], struct error *err)
{
	static const char *const first[] = { "docker", "build",
					     "-t",     RESULT,
					     "-f",     WORK "/Dockerfile" };
	const char *target = options_value(options, "target"), *value;
	size_t at = 0, n = 0;

	for (; n < ARRAY_SIZE(first); n++)
		argv[n] = first[n];
	if (options_flag(options, "no-cache"))
		argv[n++] = "--no-cache";
	if (target) {
		argv[n++] = "--target";
		argv[n++] = target;
	}
	while ((value = options_next(options, "build-arg", &at))) {
		if (n + 4 > ARGS_MAX)
			return options_usage(err, "too many --build-arg");
		argv[n++] = "--build-arg";
		argv[n++] = value;
	}
	argv[n++] = WORK "/context";
	argv[n] = NULL;
	return 0;
}

static int run_engine(const struct options *options, struct build *build,
		      struct error *err)
{
	struct blocked_mark mark = blocked_begin(&build->builder.sandbox);
	struct builder_io io = BUILDER_IO_INIT;
	const char *argv[ARGS_MAX];
	int code;

	if (list_arguments(options, argv, err) < 0)
		return -1;
	io.terminal = true;
	code = builder_run(&build->builder, argv, &io, err);
	if (code <= 0 || code >= INTERRUPTED)
		return code;
	blocked_report(&build->builder.sandbox, &mark);
	return error_set(err, 0, "%s could not be built", build->file);
}

static void say_loaded(void *ctx, const char *name, const char *id)
{
	progress_view_clear();
	printf("%s\n", name);
}

static int take_result(struct build *build, struct error *err)
{
	static const char *const save[] = { "docker", "save", RESULT, NULL };
	AUTO_CLOSE int spool = builder_spool(err);
	struct template_load load = { .fd = spool,
				      .label = build->folder,
				      .name = build->name,
				      .alone = true,
				      .place = TEMPLATE_USER,
				      .progress = progress_view(),
				      .loaded = say_loaded };
	struct builder_io io = BUILDER_IO_INIT;
	int code;

	if (spool < 0)
		return -1;
	io.out = spool;
	code = builder_run(&build->builder, save, &io, err);
	if (code)
		return code < 0 ? -1
				: error_set(err, 0,
					    "the builder did not give "
					    "the image away");
	if (lseek(spool, 0, SEEK_SET) < 0)
		return error_set(err, errno, "the image");
	return template_load(&load, err);
}

/* A file of nothing but FROM: there is nothing to build, only to name. */
static int name_base(const struct build *build, const char *base,
		     struct error *err)
{
	AUTO_TEMPLATE struct template template = { 0 };
	struct template_wish wish = { .name = base,
				      .policy = TEMPLATE_PULL_MISSING,
				      .place = TEMPLATE_USER,
				      .progress = progress_view() };
	char note[512];

	if (template_obtain(&wish, &template, note, err) < 0)
		return -1;
	progress_view_clear();
	if (note[0])
		fprintf(stderr, "bawn: %s\n", note);
	if (template_tag(base, build->name, TEMPLATE_USER, err) < 0)
		return -1;
	printf("%s\n", build->name);
	return 0;
}

/* 1 when there is something to build. */
static int needs_engine(const struct build *build,
			struct dockerfile_bases *bases, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(DOCKERFILE_MAX);

	if (fileio_read(AT_FDCWD, build->file, &text, err) < 0)
		return -1;
	dockerfile_find_bases((const char *)text.data, text.len, bases);
	return !bases->alone;
}

static int build(const struct options *options, struct error *err)
{
	AUTO_FREE struct dockerfile_bases *bases = xcalloc(1, sizeof(*bases));
	AUTO_BUILD struct build build = { .builder = BUILDER_INIT };
	int result;

	if (prepare(options, &build, err) < 0)
		return -1;
	result = options_value(options, "target")
			 ? 1
			 : needs_engine(&build, bases, err);
	if (result <= 0)
		return result < 0 ? -1
				  : name_base(&build, bases->names[0], err);
	if (builder_open(&build.builder, err) < 0)
		return -1;
	result = send(&build, err);
	if (result == 0)
		result = bring_bases(&build, err);
	if (result == 0)
		result = run_engine(options, &build, err);
	if (result == 0)
		result = take_result(&build, err);
	return result < 0 && stream_signal() ? 128 + stream_signal() : result;
}

static const struct option_row rows[] = {
	{ "tag", 't', OPTION_VALUE, "NAME[:TAG]",
	  "what the template is called (else as the folder)", NULL,
	  OPTION_HERE },
	{ "file", 'f', OPTION_VALUE, "FILE", "the Dockerfile (DIR/Dockerfile)",
	  COMPLETE_FILES, OPTION_HERE },
	{ "build-arg", '\0', OPTION_LIST, "KEY=VALUE",
	  "an ARG of the Dockerfile", NULL, OPTION_HERE },
	{ "target", '\0', OPTION_VALUE, "STAGE", "build up to this stage", NULL,
	  OPTION_HERE },
	{ "no-cache", '\0', OPTION_FLAG, NULL,
	  "build every step, also those that were built before", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_build = {
	.name = "template build",
	.arguments = "DIR",
	.help = "make a template from a Dockerfile, and print its name",
	.details =
		"It is built by Docker in a sandbox of its own, " BUILDER_NAME
		", which is kept for the\nnext build. What "
		"it may fetch, its rules say: `bawn policy allow " BUILDER_NAME
		" HOST`.\nFROM may name a template. A file of nothing but "
		"FROM gives that one another name.",
	.options = rows,
	.completes = COMPLETE_FOLDERS,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = build,
};
