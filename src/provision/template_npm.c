/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_npm.c - a template of another one and packages of an npm registry
 *
 * Packages of agents are programs for one platform. They come without npm:
 * bawn-registry asks the registry and checks the tarball's SHA-512, bawn-image
 * puts files of it into a copy of the other template's disk. Nothing of the
 * package runs on the host.
 */
#include "provision/template_build.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/image_process.h"
#include "provision/npm_registry.h"
#include "provision/template_ini.h"
#include "provision/tool.h"
#include "state/digest.h"
#include "state/paths.h"

#define ARGS_MAX 64
#define TEXT_MAX (64u << 10)
#define RESULT_MAX 4096
#define TARBALL "package.tgz"

AUTO_DEFINE(json, json_t *, json_decref)

struct making {
	struct template_build *build;
	char *registry;       /* owned */
	struct buffer recipe; /* all that the disk depends on */
	char shown[100];      /* the first package, for people */
};

/* Splits "npm NAME VERSION SUFFIX"; the words point into line. */
static size_t split(char *line, char *words[4])
{
	size_t n = 0;
	char *word;

	while ((word = strsep(&line, " \t")) && n < 4)
		if (*word)
			words[n++] = word;
	return n;
}

static int run_process(const char *const *argv, const int fds[3], int result_fd,
		       struct error *err)
{
	AUTO_FREE char *path = paths_helper(argv[0], err);
	AUTO_CLOSE int log = memfd_create("log", MFD_CLOEXEC);
	struct child_fd list[] = {
		{ fds[0], 0 }, { result_fd, 1 }, { log, 2 }, { fds[1], 4 }
	};
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .env = tool_env(),
				   .fds = list,
				   .fd_count = ARRAY_SIZE(list),
				   .flags = CHILD_DIE_WITH_US };
	struct child child;

	if (!path)
		return -1;
	if (log < 0)
		return error_set(err, errno, "memfd_create");
	if (child_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "%s", argv[0]);
	return tool_wait(&child, argv[0], log, NULL, NULL, err);
}

/* The package into fd; what came is added to the recipe. */
static int fetch(struct making *making, char *words[4], size_t count, int fd,
		 struct error *err)
{
	static const char *const argv[] = { "bawn-registry", "npm", NULL };
	AUTO_CLOSE int result_fd = memfd_create("result", MFD_CLOEXEC);
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RESULT_MAX);
	AUTO(json) json_t *order = NULL;
	AUTO(json) json_t *result = NULL;
	AUTO_FREE char *line = NULL;
	AUTO_CLOSE int order_fd = -1;
	const char *version = NULL, *digest = NULL;
	int fds[3] = { -1, fd, -1 };

	order = json_pack("{s:s, s:s, s:s, s:s}", "registry", making->registry,
			  "package", words[1], "version", words[2], "suffix",
			  count > 3 ? words[3] : "");
	line = order ? json_dumps(order, JSON_COMPACT) : NULL;
	if (!line)
		return error_set(err, EILSEQ, "the npm registry's address");
	order_fd = image_process_text(line, err);
	fds[0] = order_fd;
	if (order_fd < 0 || lseek(order_fd, 0, SEEK_SET) < 0 ||
	    run_process(argv, fds, result_fd, err) < 0)
		return -1;
	if (lseek(result_fd, 0, SEEK_SET) < 0 ||
	    fileio_read_fd(result_fd, &text, err) < 0)
		return -1;
	result = text.len ? json_loadb((const char *)text.data, text.len, 0,
				       NULL)
			  : NULL;
	if (json_unpack(result, "{s:s, s:s}", "version", &version, "digest",
			&digest) < 0)
		return error_set(err, 0, "bawn-registry gave no result");
	if (!making->shown[0])
		text_format(making->shown, sizeof(making->shown), "%s %s",
			    words[1], version);
	return buffer_printf(&making->recipe, "%s %s %s\n", words[1], version,
			     digest);
}

/* The rows after "npm" up to the next one become options of bawn-image. */
static int add(struct making *making, char *const *steps, int fd,
	       struct error *err)
{
	const char *argv[ARGS_MAX + 1] = { "bawn-image", "add" };
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *owned[ARGS_MAX] = { NULL };
	const int fds[3] = { fd, making->build->disk_fd, -1 };
	size_t n = 2, used = 0;
	int result = 0;

	for (; *steps && !text_starts(*steps, "npm ") && result == 0; steps++) {
		AUTO_FREE char *line = xstrdup(*steps);
		char *words[4];

		if (split(line, words) != 3 || n + 2 > ARGS_MAX ||
		    strchr(words[1], '=')) {
			result = error_set(err, 0, "\"%s\": two paths expected",
					   *steps);
			break;
		}
		owned[used] = xasprintf("%s=%s", words[1], words[2]);
		argv[n++] = strcmp(words[0], "take") == 0 ? "--take" : "--link";
		argv[n++] = owned[used++];
		result = buffer_printf(&making->recipe, "%s\n", *steps);
	}
	if (result == 0 && lseek(fd, 0, SEEK_SET) < 0)
		result = error_set(err, errno, TARBALL);
	if (result == 0)
		result = run_process(argv, fds, null, err);
	for (size_t i = 0; i < used; i++)
		free(owned[i]);
	return result;
}

static int add_package(struct making *making, char *const *steps,
		       struct error *err)
{
	const struct template_build *build = making->build;
	AUTO_FREE char *line = xstrdup(*steps);
	AUTO_CLOSE int fd = -1;
	char *words[4], title[200];
	size_t count = split(line, words);

	if (count < 3)
		return error_set(err, 0, "\"%s\": npm = NAME VERSION [SUFFIX]",
				 *steps);
	fd = openat(build->folder_fd, TARBALL,
		    O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, errno, TARBALL);
	text_format(title, sizeof(title), "making the template %s: fetching %s",
		    build->name, words[1]);
	progress_step(build->progress, title);
	if (fetch(making, words, count, fd, err) < 0)
		return -1;
	text_format(title, sizeof(title), "making the template %s: adding %s",
		    build->name, words[1]);
	progress_step(build->progress, title);
	return add(making, steps + 1, fd, err);
}

static int add_packages(struct making *making, struct error *err)
{
	char *const *step = making->build->ini->steps;

	if (!*step || !text_starts(*step, "npm "))
		return error_set(err, 0, "no package is named (npm = ...)");
	for (; *step; step++)
		if (text_starts(*step, "npm ") &&
		    add_package(making, step, err) < 0)
			return -1;
	return 0;
}

static int copy_disk(struct making *making, const struct template *from,
		     struct error *err)
{
	struct template_build *build = making->build;
	AUTO_CLOSE int disk = open(from->disk, O_RDONLY | O_CLOEXEC);
	char title[160];

	if (disk < 0)
		return error_set(err, errno, "%s", from->disk);
	text_format(title, sizeof(title), "making the template %s: copying %s",
		    build->name, from->name);
	progress_step(build->progress, title);
	build->size_bytes = from->size_bytes;
	return fileio_copy_sparse(disk, build->disk_fd, err);
}

static int make(struct making *making, struct error *err)
{
	struct template_build *build = making->build;
	AUTO_TEMPLATE struct template from = { 0 };
	char hex[DIGEST_HEX];

	if (!build->ini->from)
		return error_set(err, 0, "no template is named (from = ...)");
	/* said before a copy is made */
	making->registry = npm_registry_find(build->folder, err);
	if (!making->registry ||
	    template_ensure(build->ini->from, build->place, build->progress,
			    &from, err) < 0 ||
	    buffer_printf(&making->recipe, "%s\n", from.id) < 0 ||
	    copy_disk(making, &from, err) < 0 || add_packages(making, err) < 0)
		return -1;
	digest_bytes(making->recipe.data, making->recipe.len, hex);
	text_format(build->id, sizeof(build->id), "sha256:%s", hex);
	text_format(build->source, sizeof(build->source), "%s, %s", from.name,
		    making->shown);
	return 0;
}

int template_build_npm(struct template_build *build, struct error *err)
{
	struct making making = { .build = build };
	int result;

	buffer_init(&making.recipe, TEXT_MAX);
	result = make(&making, err);
	buffer_release(&making.recipe);
	free(making.registry);
	return result;
}
