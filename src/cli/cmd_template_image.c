/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_template_image.c - template pull, load, save, push, tag
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/progress_view.h"
#include "cli/save.h"
#include "cli/template_file.h"
#include "provision/template_load.h"
#include "provision/template_pull.h"
#include "provision/template_push.h"
#include "provision/template_tag.h"

static int place_of(const struct options *options, enum template_place *place,
		    struct error *err)
{
	*place = options_flag(options, "system") ? TEMPLATE_SYSTEM
						 : TEMPLATE_USER;
	if (*place == TEMPLATE_SYSTEM && geteuid() != 0)
		return error_set(err, 0,
				 "--system writes for every user: run it with "
				 "sudo");
	return 0;
}

static const struct option_row system_rows[] = {
	{ "system", '\0', OPTION_FLAG, NULL,
	  "for every user of this machine (needs root)", NULL, OPTION_HERE },
	{ .name = NULL },
};

static int pull(const struct options *options, struct error *err)
{
	AUTO_TEMPLATE struct template template = { 0 };
	struct template_wish wish = { .name = options->words[0],
				      .policy = TEMPLATE_PULL_ALWAYS,
				      .progress = progress_view() };
	char note[512];

	if (place_of(options, &wish.place, err) < 0 ||
	    template_obtain(&wish, &template, note, err) < 0)
		return -1;
	progress_view_clear();
	if (note[0])
		fprintf(stderr, "bawn: %s\n", note);
	printf("%s\n", template.id);
	return 0;
}

const struct command command_template_pull = {
	.name = "template pull",
	.arguments = "base|tiny|AGENT|IMAGE",
	.help = "make a built-in template ready, or fetch an image",
	.details = "IMAGE is written as for `docker pull`. Logins of docker "
		   "and podman are used, and mirrors\nfrom the file "
		   "`registries` in bawn's configuration folder.",
	.options = system_rows,
	.completes = COMPLETE_TEMPLATES,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = pull,
};

static void say_loaded(void *ctx, const char *name, const char *id)
{
	progress_view_clear();
	printf("%s\n", name);
}

static int load(const struct options *options, struct error *err)
{
	const char *path = options->words[0];
	bool from_stdin = strcmp(path, "-") == 0;
	AUTO_CLOSE int opened =
		from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct template_load wish = { .fd = from_stdin ? 0 : opened,
				      .label = from_stdin ? "stdin" : path,
				      .name = options_value(options, "tag"),
				      .progress = progress_view(),
				      .loaded = say_loaded };

	if (wish.fd < 0)
		return error_set(err, errno, "%s", path);
	if (from_stdin && isatty(0))
		return options_usage(err, "an archive is expected on stdin");
	if (place_of(options, &wish.place, err) < 0)
		return -1;
	return template_load(&wish, err);
}

static const struct option_row load_rows[] = {
	{ "tag", 't', OPTION_VALUE, "NAME[:TAG]",
	  "what it is called (else as the archive says)", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_load = {
	.name = "template load",
	.arguments = "FILE|FOLDER|-",
	.help = "make a template from an archive, and print its name",
	.details = "FILE is what `docker save` writes, an OCI archive, or a "
		   "tar of a root file system,\nperhaps compressed; FOLDER is "
		   "an OCI layout.",
	.options = load_rows,
	.options_too = system_rows,
	.completes = COMPLETE_FILES,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = load,
};

static int save(const struct options *options, struct error *err)
{
	const char *path = options_value(options, "output");
	struct save_wish wish = { .sandbox = options->words[0],
				  .output = path };

	/* as some say `save SANDBOX TAG` */
	if (options->word_count == 2) {
		wish.tag = options->words[1];
		return save_sandbox(&wish, err);
	}
	if (!path && isatty(1))
		return options_usage(err, "an archive is nothing for a "
					  "terminal: use -o FILE");
	if (!path)
		return template_save(options->words[0], 1, progress_view(),
				     err);
	if (template_file_check(path, err) < 0)
		return -1;
	return template_file_write(options->words[0], path, err);
}

static const struct option_row save_rows[] = {
	{ "output", 'o', OPTION_VALUE, "FILE", "where to write it (stdout)",
	  COMPLETE_FILES, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_save = {
	.name = "template save",
	.arguments = "IMAGE | SANDBOX TAG",
	.help = "write a template into an archive",
	.details = "`docker load`, skopeo and `bawn template load` read it. "
		   "With two words it is `bawn save`.",
	.options = save_rows,
	.completes = COMPLETE_TEMPLATES,
	.min_words = 1,
	.max_words = 2,
	.failure_code = 1,
	.run = save,
};

static int push(const struct options *options, struct error *err)
{
	return template_push(options->words[0], progress_view(), err);
}

const struct command command_template_push = {
	.name = "template push",
	.arguments = "IMAGE",
	.help = "send a template to the registry that its name says",
	.completes = COMPLETE_TEMPLATES,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = push,
};

static int tag(const struct options *options, struct error *err)
{
	enum template_place place;

	if (place_of(options, &place, err) < 0)
		return -1;
	return template_tag(options->words[0], options->words[1], place, err);
}

const struct command command_template_tag = {
	.name = "template tag",
	.arguments = "TEMPLATE IMAGE",
	.help = "give a template another name",
	.options = system_rows,
	.completes = COMPLETE_TEMPLATES,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 1,
	.run = tag,
};
