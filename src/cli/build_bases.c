/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_bases.c - local templates that a Dockerfile builds on, in the builder
 *
 * In the engine each has a second name with the template's id, so that it is
 * brought only once, and again when the name means something else here.
 */
#include "cli/build_bases.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/builder.h"
#include "cli/progress_view.h"
#include "oci/dockerfile.h"
#include "provision/template.h"
#include "provision/template_pull.h"
#include "provision/template_push.h"

#define KEPT_NAME "bawn/template:"
#define ID_DIGITS 32
/* The names of ready-made sandboxes: ours stand in for them. */
#define STAND_INS "docker/sandbox-templates"

/* 1 when there is one, 0 when the engine is to look for it. */
static int find(const char *name, struct template *template, struct error *err)
{
	struct template_wish wish = { .name = name,
				      .policy = TEMPLATE_PULL_MISSING,
				      .place = TEMPLATE_USER,
				      .progress = progress_view() };
	struct error own = { 0 };
	char note[512];

	if (template_find(name, template, &own) == 0)
		return 1;
	if (own.code != ENOENT) {
		*err = own;
		return -1;
	}
	template_release(template);
	*template = (struct template){ 0 };
	if (!template_is_built_in(name) && !text_starts(name, STAND_INS))
		return 0;
	if (template_obtain(&wish, template, note, err) < 0)
		return -1;
	progress_view_clear();
	if (note[0])
		fprintf(stderr, "bawn: %s\n", note);
	return 1;
}

static int run(struct builder *builder, const char *const *argv, int in,
	       bool quiet, struct error *err)
{
	struct builder_io io = BUILDER_IO_INIT;

	io.in = in;
	io.quiet = quiet;
	return builder_run(builder, argv, &io, err);
}

static int tag(struct builder *builder, const char *from, const char *to,
	       bool quiet, struct error *err)
{
	const char *argv[] = { "docker", "tag", from, to, NULL };

	return run(builder, argv, -1, quiet, err);
}

/* The files of a template that is no image, from a sandbox of its own. */
static int copy_files(const char *id, int to, struct error *err)
{
	static const char *const argv[] = { "/proc/1/exe", "root-out", NULL };
	AUTO_BUILDER struct builder copy = BUILDER_INIT;
	struct builder_io io = BUILDER_IO_INIT;
	int code;

	io.out = to;
	if (builder_open_copy(&copy, id, err) < 0)
		return -1;
	code = builder_run(&copy, argv, &io, err);
	if (code <= 0)
		return code;
	return error_set(err, 0, "its files could not be read");
}

static int fill(const struct template *template, const char *name, int spool,
		struct error *err)
{
	if (template->image && !template->stand_in)
		return template_save(name, spool, progress_view(), err);
	progress_step(progress_view(), "reading the template's files");
	/* not by its name, for which a registry might be asked again */
	if (copy_files(template->id, spool, err) < 0)
		return -1;
	progress_done(progress_view());
	return 0;
}

static int bring(struct builder *builder, const struct template *template,
		 const char *name, struct error *err)
{
	bool image = template->image && !template->stand_in;
	const char *argv[] = { "docker", image ? "load" : "import",
			       image ? "-q" : "-", image ? NULL : name, NULL };
	AUTO_CLOSE int spool = builder_spool(err);
	int code;

	if (spool < 0 || fill(template, name, spool, err) < 0)
		return -1;
	if (lseek(spool, 0, SEEK_SET) < 0)
		return error_set(err, errno, "the archive");
	code = run(builder, argv, spool, true, err);
	if (code <= 0)
		return code;
	return error_set(err, 0, "the builder's Docker does not take it");
}

static int bring_once(struct builder *builder, const struct template *template,
		      const char *name, struct error *err)
{
	char kept[128];
	int code;

	text_format(kept, sizeof(kept), KEPT_NAME "%.*s", ID_DIGITS,
		    template->id + strlen("sha256:"));
	code = tag(builder, kept, name, true, err);
	if (code <= 0)
		return code;
	if (bring(builder, template, name, err) < 0)
		return -1;
	code = tag(builder, name, kept, false, err);
	if (code <= 0)
		return code;
	return error_set(err, 0, "the builder's Docker has lost it");
}

int build_bases_bring(struct builder *builder,
		      const struct dockerfile_bases *bases, struct error *err)
{
	for (size_t i = 0; i < bases->count; i++) {
		AUTO_TEMPLATE struct template template = { 0 };
		int found = find(bases->names[i], &template, err);

		if (found > 0)
			found = bring_once(builder, &template, bases->names[i],
					   err);
		if (found < 0) {
			char shown[256];

			text_printable(bases->names[i], strlen(bases->names[i]),
				       shown, sizeof(shown));
			return error_prefix(err, "FROM %s", shown);
		}
	}
	return 0;
}
