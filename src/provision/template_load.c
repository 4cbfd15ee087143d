/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_load.c - templates from archives
 *
 * A file that is compressed, or that comes through a pipe, is first laid into
 * the cache as it is when unpacked: its parts are not in the order in which
 * they are needed.
 */
#include "provision/template_load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "oci/archive_names.h"
#include "oci/reference.h"
#include "provision/image_intake.h"
#include "provision/image_process.h"
#include "provision/template_names.h"
#include "provision/template_pull.h"
#include "provision/tool.h"
#include "state/paths.h"

#define MAGIC_BYTES 6

AUTO_DEFINE(json, json_t *, json_decref)

static const struct {
	const char *bytes;
	size_t len;
} packed[] = {
	{ "\x1f\x8b", 2 },         /* gzip */
	{ "\x28\xb5\x2f\xfd", 4 }, /* zstd */
	{ "\xfd"
	  "7zXZ",
	  5 },        /* xz */
	{ "BZh", 3 }, /* bzip2 */
};

/* ---- getting at the bytes ---- */

static bool is_packed(int fd)
{
	char magic[MAGIC_BYTES] = "";

	if (pread(fd, magic, sizeof(magic), 0) < (ssize_t)sizeof(magic))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(packed); i++)
		if (memcmp(magic, packed[i].bytes, packed[i].len) == 0)
			return true;
	return false;
}

/* A file without a name: gone when it is closed, also after a crash. */
static int open_spool(struct error *err)
{
	AUTO_FREE char *path = paths_of(PATHS_CACHE, NULL, err);
	AUTO_CLOSE int folder = paths_open(PATHS_CACHE, NULL, err);
	int fd;

	if (!path || folder < 0)
		return -1;
	fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : error_set(err, errno, "%s", path);
}

static int spool(int from, const struct progress *progress, struct error *err)
{
	AUTO_CLOSE int to = open_spool(err);

	if (to < 0)
		return -1;
	progress_step(progress, "reading the archive");
	if (tool_image("inflate", from, to, err) < 0)
		return -1;
	progress_done(progress);
	if (lseek(to, 0, SEEK_SET) < 0)
		return error_set(err, errno, "the archive");
	return TAKE_FD(to);
}

/* One descriptor for bawn-image, at the start of something it can read. */
static int open_archive(const struct template_load *load, bool *folder,
			struct error *err)
{
	struct stat st;
	int fd;

	if (fstat(load->fd, &st) < 0)
		return error_set(err, errno, "%s", load->label);
	*folder = S_ISDIR(st.st_mode);
	if (*folder) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return fd >= 0 ? fd : error_set(err, errno, "/dev/null");
	}
	if (!load->run && (!S_ISREG(st.st_mode) || is_packed(load->fd)))
		return spool(load->fd, load->progress, err);
	fd = fcntl(load->fd, F_DUPFD_CLOEXEC, 0);
	return fd >= 0 ? fd : error_set(err, errno, "%s", load->label);
}

/* Files of a layout that bawn-image asks for: only these, and no links. */
static int open_in_layout(void *ctx, const char *name, struct error *err)
{
	const struct template_load *load = ctx;
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (strcmp(name, "index.json") != 0 &&
	    strcmp(name, "oci-layout") != 0 && !text_starts(name, "blobs/"))
		return error_set(err, ENOENT, "%s", name);
	fd = (int)syscall(SYS_openat2, load->fd, name, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s/%s", load->label, name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s/%s is no file", load->label, name);
	return TAKE_FD(fd);
}

/* The one file that is asked for with a disk. */
static int open_run(void *ctx, const char *name, struct error *err)
{
	const struct template_load *load = ctx;
	AUTO(json) json_t *order = NULL;
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = -1;
	time_t now = time(NULL);
	char date[40] = "";
	struct tm parts;

	if (gmtime_r(&now, &parts))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
	order = json_pack("{s:o, s:s}", "config", image_run_to_json(load->run),
			  "created", date);
	text = order ? json_dumps(order, JSON_COMPACT) : NULL;
	if (!text)
		return error_set(err, EILSEQ, "how the image is run");
	fd = image_process_text(text, err);
	if (fd < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "%s", name);
	return TAKE_FD(fd);
}

/* ---- names ---- */

void template_load_name(const char *label, char name[REFERENCE_TEXT_MAX])
{
	const char *slash = strrchr(label, '/');
	bool between = false;
	size_t len = 0;

	for (const char *c = slash ? slash + 1 : label; *c && len < 64; c++) {
		char lower = *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c;

		if (*c == '.')
			break;
		if ((lower < 'a' || lower > 'z') &&
		    (lower < '0' || lower > '9')) {
			between = len > 0;
			continue;
		}
		if (between)
			name[len++] = '-';
		between = false;
		name[len++] = lower;
	}
	name[len] = '\0';
	if (!len)
		text_copy(name, REFERENCE_TEXT_MAX, "loaded");
}

/* A bare tag in a layout is a tag of what the layout is called. */
static int read_name(const struct template_load *load, const char *said,
		     struct reference *reference, struct error *err)
{
	char name[REFERENCE_TEXT_MAX], whole[2 * REFERENCE_TEXT_MAX];

	template_load_name(load->label, name);
	if (!said)
		return reference_parse(name, reference, err);
	if (strpbrk(said, "/:"))
		return reference_parse(said, reference, err);
	text_format(whole, sizeof(whole), "%s:%s", name, said);
	return reference_parse(whole, reference, err);
}

static int save_name(const struct template_load *load,
		     const struct reference *reference,
		     const struct intake *intake, struct error *err)
{
	char full[REFERENCE_TEXT_MAX], familiar[REFERENCE_TEXT_MAX];
	struct template_name name = { .reference = full,
				      .content = (char *)intake->content,
				      .source = (char *)load->label,
				      .created = time(NULL),
				      .has_image = true,
				      .image = intake->image };

	reference_format(reference, full);
	reference_familiar(reference, familiar);
	if (template_is_confusing(reference))
		return error_set(err, 0,
				 "%s is a built-in template (-t gives "
				 "it another name)",
				 familiar);
	if (template_name_save(load->place, &name, err) < 0)
		return -1;
	if (load->loaded)
		load->loaded(load->ctx, familiar, intake->content);
	return 0;
}

static int save_names(const struct template_load *load, size_t number,
		      const struct intake *intake, struct error *err)
{
	const json_t *names = json_object_get(intake->facts, "names");
	size_t count = json_array_size(names);
	struct reference reference;

	if (load->name && number == 0)
		count = 1;
	for (size_t i = 0; i < count || i == 0; i++) {
		const char *said =
			load->name && number == 0
				? load->name
				: json_string_value(json_array_get(names, i));

		if (load->name && number == 0
			    ? reference_parse(said, &reference, err) < 0
			    : read_name(load, said, &reference, err) < 0)
			return error_prefix(err, "-t gives it another name");
		if (save_name(load, &reference, intake, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of it ---- */

/* *count gets how many images there are. */
static int load_one(const struct template_load *load, int archive, bool folder,
		    size_t number, size_t *count, struct error *err)
{
	char text[16];
	const char *argv[] = {
		"bawn-image", "load",
		"--from",     folder ? "folder" : load->run ? "disk" : "tar",
		"--image",    text,
		NULL
	};
	AUTO_FREE char *title = xasprintf("loading %s", load->label);
	AUTO_INTAKE struct intake intake = INTAKE_INIT;
	struct intake_source source = { .argv = argv,
					.input = archive,
					.title = title,
					/* it is read from its start again */
					.rest = BLOB_STORE_DROP };
	json_int_t said;

	if (folder) {
		source.open = open_in_layout;
		source.open_ctx = (void *)load;
	}
	if (load->run) {
		source.open = open_run;
		source.open_ctx = (void *)load;
	}
	text_format(text, sizeof(text), "%zu", number);
	if (intake_run(&source, load->place, load->progress, &intake, err) < 0)
		return -1;
	said = json_integer_value(json_object_get(intake.facts, "count"));
	*count = said > 0 && said <= ARCHIVE_IMAGES_MAX ? (size_t)said : 1;
	return save_names(load, number, &intake, err);
}

int template_load(const struct template_load *load, struct error *err)
{
	bool folder = false;
	AUTO_CLOSE int archive = open_archive(load, &folder, err);
	size_t count = 1;

	if (archive < 0)
		return error_prefix(err, "%s", load->label);
	for (size_t i = 0; i < (load->alone ? 1 : count); i++)
		if (load_one(load, archive, folder, i, &count, err) < 0)
			return error_prefix(err, "%s", load->label);
	return 0;
}

/* ---- the engine of this machine ---- */

static int start_save(const char *image, int output, int log,
		      struct child *child, struct error *err)
{
	const char *path = child_tool("docker", err);
	const char *argv[] = { "docker", "save", image, NULL };
	struct child_fd fds[] = { { output, 1 }, { log, 2 } };
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .env = (const char *const *)environ,
				   .fds = fds,
				   .fd_count = ARRAY_SIZE(fds),
				   .flags = CHILD_NULL_STDIO |
					    CHILD_DIE_WITH_US };

	return path ? child_spawn(&spec, child, err) : -1;
}

int template_load_from_engine(const struct reference *reference,
			      const struct template_wish *wish,
			      struct error *err)
{
	AUTO_CLOSE int log = image_process_text("", err);
	AUTO_CLOSE int saved = open_spool(err);
	char familiar[REFERENCE_TEXT_MAX];
	struct template_load load = { .label = familiar,
				      .name = familiar,
				      .place = wish->place,
				      .progress = wish->progress };
	struct child child;

	reference_familiar(reference, familiar);
	if (log < 0 || saved < 0 ||
	    start_save(familiar, saved, log, &child, err) < 0)
		return error_prefix(err, "image %s", familiar);
	progress_step(wish->progress, "taking the image from docker");
	if (tool_wait(&child, "docker", log, NULL, NULL, err) < 0)
		return error_prefix(err, "image %s", familiar);
	progress_done(wish->progress);
	load.fd = saved;
	return template_load(&load, err);
}
