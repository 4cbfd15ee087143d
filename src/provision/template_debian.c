/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_debian.c - the template "base": mmdebstrap into bawn-image
 *
 * mmdebstrap writes a tar to a pipe, bawn-image reads it: no copy lies on the
 * disk in between. Started by root it runs in a PID namespace of its own, so
 * that it ends with us, whatever it is doing. An ordinary user's owners come
 * from subordinate ids, or without those from fakechroot and fakeroot, which
 * pretend: slower, and the same tree comes out, since the tar is written
 * inside the pretence.
 */
#include "provision/template_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/apt_sources.h"
#include "provision/template_ini.h"
#include "provision/tool.h"
#include "state/paths.h"

#define ARGS_MAX 64
#define SOURCES_MAX (64u << 10)
#define HOOK_MAX (64u << 10)
#define LINE_BYTES 512
#define IMAGE_PERCENT 92
#define IMAGE_BYTES_GUESS (200ull << 20) /* of tar, for one more percent */

struct pipes {
	int tar[2], log[2], progress[2];
};

struct args {
	const char *argv[ARGS_MAX];
	char *owned[ARGS_MAX];
	size_t count, owned_count;
};

static void args_add(struct args *args, const char *text)
{
	if (args->count < ARGS_MAX - 1)
		args->argv[args->count++] = text;
}

static void args_take(struct args *args, char *text)
{
	args->owned[args->owned_count++] = text;
	args_add(args, text);
}

static void args_release(struct args *args)
{
	for (size_t i = 0; i < args->owned_count; i++)
		free(args->owned[i]);
}

static bool has_line_for(const char *path, const char *name, uid_t uid)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1u << 20);
	struct error unread;
	char number[16];
	const char *line;

	text_format(number, sizeof(number), "%u", (unsigned)uid);
	if (fileio_read(AT_FDCWD, path, &text, &unread) < 0)
		return false;
	for (line = buffer_str(&text); line && *line;) {
		size_t len = strcspn(line, ":\n");

		if (line[len] == ':' && ((name && strlen(name) == len &&
					  strncmp(line, name, len) == 0) ||
					 (strlen(number) == len &&
					  strncmp(line, number, len) == 0)))
			return true;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

enum mode {
	MODE_ROOT,
	MODE_UNSHARE,    /* user namespace with subordinate ids */
	MODE_FAKECHROOT, /* neither */
};

static const char *const mode_options[] = {
	[MODE_ROOT] = "--mode=root",
	[MODE_UNSHARE] = "--mode=unshare",
	[MODE_FAKECHROOT] = "--mode=fakechroot",
};

static int choose_mode(enum mode *mode, struct error *err)
{
	const struct passwd *user = getpwuid(getuid());
	const char *name = user ? user->pw_name : NULL;
	struct error missing;

	*mode = MODE_ROOT;
	if (geteuid() == 0)
		return 0;
	*mode = MODE_UNSHARE;
	if (child_tool("newuidmap", &missing) &&
	    has_line_for("/etc/subuid", name, getuid()) &&
	    has_line_for("/etc/subgid", name, getuid()))
		return 0;
	*mode = MODE_FAKECHROOT;
	if (child_tool("fakechroot", &missing) &&
	    child_tool("fakeroot", &missing))
		return 0;
	return error_set(err, 0,
			 "this user cannot make it: run \"sudo bawn template "
			 "pull base --system\" once for all users, or \"sudo "
			 "apt-get install fakechroot fakeroot\"");
}

static int read_hook(const struct template_ini *ini, struct buffer *text,
		     struct error *err)
{
	AUTO_FREE char *name = NULL, *path = NULL;

	if (!ini->hook)
		return 0;
	name = xasprintf("templates/%s", ini->hook);
	path = paths_data_file(name, err);
	return path ? fileio_read(AT_FDCWD, path, text, err) : -1;
}

static char *join(char *const *words)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(SOURCES_MAX);

	for (size_t i = 0; words[i]; i++)
		(void)buffer_printf(&text, "%s%s", i ? "," : "", words[i]);
	return xasprintf("--include=%s", text.len ? buffer_str(&text) : "apt");
}

/* The sources file must be readable by mmdebstrap's mapped root. */
static int write_sources(struct template_build *build, struct args *args,
			 struct error *err)
{
	AUTO_BUFFER struct buffer sources = BUFFER_INIT(SOURCES_MAX);
	char codename[64];
	char *line, *rest;

	if (apt_sources_of_host(&sources, codename, sizeof(codename), err) < 0)
		return -1;
	text_format(build->source, sizeof(build->source), "mmdebstrap %s",
		    codename);
	args_take(args, xstrdup(codename));
	args_add(args, "-");
	rest = sources.len ? (char *)(uintptr_t)buffer_str(&sources) : NULL;
	while ((line = strsep(&rest, "\n")))
		if (*line && args->count < ARGS_MAX - 2)
			args_take(args, xstrdup(line));
	return 0;
}

static int fill_args(struct template_build *build, enum mode mode,
		     struct args *args, struct error *err)
{
	const struct template_ini *ini = build->ini;
	AUTO_BUFFER struct buffer hook = BUFFER_INIT(HOOK_MAX);

	if (read_hook(ini, &hook, err) < 0)
		return -1;
	if (mode == MODE_ROOT) {
		args_add(args, "unshare");
		args_add(args, "--pid");
		args_add(args, "--mount-proc");
		args_add(args, "--fork");
		args_add(args, "--kill-child");
		args_add(args, "--");
	}
	args_add(args, "mmdebstrap");
	args_add(args, mode_options[mode]);
	args_add(args, "--variant=apt");
	args_add(args, "--format=tar");
	args_add(args, "--skip=chroot/policy-rc.d");
	args_add(args, "--aptopt=Acquire::Languages \"none\"");
	args_take(args, join(ini->packages));
	for (size_t i = 0; i < 16 && ini->excludes[i]; i++)
		args_take(args, xasprintf("--dpkgopt=path-exclude=%s",
					  ini->excludes[i]));
	args_add(args, "--extract-hook=printf '#!/bin/sh\\nexit 101\\n' "
		       ">\"$1/usr/sbin/policy-rc.d\" && "
		       "chmod 0755 \"$1/usr/sbin/policy-rc.d\"");
	if (hook.len)
		args_take(args,
			  xasprintf("--customize-hook=%s", buffer_str(&hook)));
	return write_sources(build, args, err);
}

/* apt's own settings cannot hold every path. */
static bool is_plain(const char *path)
{
	return !path[strspn(path, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789/._+-")];
}

static const char *const *environment(const struct template_build *build,
				      enum mode mode, char **temp)
{
	static const char *env[32];
	const char *const *common = tool_env();
	const char *folder = getenv("TMPDIR");
	size_t n = 0;

	while (n < 30 && common[n]) {
		env[n] = common[n];
		n++;
	}
	if (!folder || !*folder)
		folder = "/tmp";
	/* A mapped root cannot enter a private home. */
	if (mode != MODE_UNSHARE && is_plain(build->folder))
		folder = build->folder;
	*temp = xasprintf("TMPDIR=%s", folder);
	env[n++] = *temp;
	env[n] = NULL;
	return env;
}

static int start_mmdebstrap(struct template_build *build, enum mode mode,
			    const struct pipes *pipes, struct child *child,
			    struct error *err)
{
	struct args args = { .count = 0 };
	AUTO_FREE char *temp = NULL;
	struct child_fd fds[] = { { pipes->tar[1], 1 }, { pipes->log[1], 2 } };
	struct child_spec spec = { .argv = args.argv,
				   .fds = fds,
				   .fd_count = ARRAY_SIZE(fds),
				   .flags = CHILD_DIE_WITH_US |
					    CHILD_NULL_STDIO };
	int result = -1;

	spec.env = environment(build, mode, &temp);
	if (!child_tool("mmdebstrap", err))
		(void)error_set(err, 0,
				"mmdebstrap is missing (run \"sudo apt-get "
				"install mmdebstrap\")");
	else if (fill_args(build, mode, &args, err) == 0)
		spec.path = child_tool(args.argv[0], err);
	if (spec.path)
		result = child_spawn(&spec, child, err);
	args_release(&args);
	return result;
}

/* What mmdebstrap says, as steps; they are about equally far apart. */
static const struct {
	const char *said, *shown;
	unsigned percent;
} stages[] = {
	{ "running apt-get update", "reading the package lists", 0 },
	{ "downloading packages", "downloading packages", 8 },
	{ "extracting archives", "unpacking", 25 },
	{ "installing essential", "setting up the essential packages", 30 },
	{ "installing remaining", "installing packages", 40 },
	{ "cleaning package lists", "cleaning up", 90 },
	{ "creating tarball", "writing the image", IMAGE_PERCENT },
};

struct watch {
	const struct template_build *build;
	int log_fd, progress_fd;
	char line[LINE_BYTES];
	size_t line_len;
	char failure[300]; /* the first "E: " line */
	uint64_t percent;
};

static void on_line(struct watch *watch, const char *line)
{
	char step[160];

	if (text_starts(line, "E: ") && !watch->failure[0])
		text_printable(line + 3, strlen(line + 3), watch->failure,
			       sizeof(watch->failure));
	if (!text_starts(line, "I: "))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		if (!text_starts(line + 3, stages[i].said))
			continue;
		text_format(step, sizeof(step), "making the template %s: %s",
			    watch->build->name, stages[i].shown);
		progress_step(watch->build->progress, step);
		progress_update(watch->build->progress, stages[i].percent, 100);
	}
}

/* false at the end of the file */
static bool read_log(struct watch *watch)
{
	char bytes[4096];
	ssize_t got = read(watch->log_fd, bytes, sizeof(bytes));

	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] != '\n' && watch->line_len < LINE_BYTES - 1) {
			watch->line[watch->line_len++] = bytes[i];
			continue;
		}
		watch->line[watch->line_len] = '\0';
		watch->line_len = 0;
		on_line(watch, watch->line);
	}
	return got > 0 || (got < 0 && errno == EINTR);
}

static bool read_progress(struct watch *watch)
{
	char bytes[256], *end;
	ssize_t got = read(watch->progress_fd, bytes, sizeof(bytes) - 1);
	uint64_t percent;

	if (got <= 0)
		return got < 0 && errno == EINTR;
	bytes[got] = '\0';
	/* The total is not known yet: a guess that never reaches the end. */
	percent = IMAGE_PERCENT + strtoull(bytes, &end, 10) / IMAGE_BYTES_GUESS;
	if (percent > 99)
		percent = 99;
	if (percent > watch->percent)
		progress_update(watch->build->progress, percent, 100);
	watch->percent = percent;
	return true;
}

static void follow(struct watch *watch)
{
	struct pollfd fds[] = { { .fd = watch->log_fd, .events = POLLIN },
				{ .fd = watch->progress_fd,
				  .events = POLLIN } };

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].fd >= 0 && fds[0].revents && !read_log(watch))
			fds[0].fd = -1;
		if (fds[1].fd >= 0 && fds[1].revents && !read_progress(watch))
			fds[1].fd = -1;
	}
}

/* Whose failure it was: mmdebstrap's own words come first. */
static int conclude(struct watch *watch, struct child *maker,
		    struct template_image *image, struct template_build *build,
		    struct error *err)
{
	int status = 0;

	if (child_wait(maker, &status, err) < 0) {
		template_image_kill(image);
		return -1;
	}
	if (child_exit_code(status) == 0)
		return template_image_finish(image, build, err);
	/* Its pipe broke because bawn-image gave up: that one knows why. */
	if (template_image_finish(image, build, err) < 0 && !watch->failure[0])
		return -1;
	if (watch->failure[0])
		return error_set(err, 0, "mmdebstrap: %s", watch->failure);
	return error_set(err, 0, "mmdebstrap failed with code %d",
			 child_exit_code(status));
}

static void pipes_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int run(struct template_build *build, enum mode mode,
	       struct pipes *pipes, struct error *err)
{
	struct template_image image;
	struct child maker;
	struct watch watch = { .build = build,
			       .log_fd = pipes->log[0],
			       .progress_fd = pipes->progress[0] };

	if (template_image_start(&image, build, pipes->tar[0],
				 pipes->progress[1], err) < 0)
		return -1;
	if (start_mmdebstrap(build, mode, pipes, &maker, err) < 0) {
		template_image_kill(&image);
		return -1;
	}
	pipes_close(&pipes->tar[0]);
	pipes_close(&pipes->tar[1]);
	pipes_close(&pipes->log[1]);
	pipes_close(&pipes->progress[1]);
	follow(&watch);
	return conclude(&watch, &maker, &image, build, err);
}

int template_build_debian(struct template_build *build, struct error *err)
{
	struct pipes pipes = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	enum mode mode;
	int result;

	/* Said before anything is started or downloaded. */
	if (choose_mode(&mode, err) < 0)
		return -1;
	if (pipe2(pipes.tar, O_CLOEXEC) < 0 ||
	    pipe2(pipes.log, O_CLOEXEC) < 0 ||
	    pipe2(pipes.progress, O_CLOEXEC) < 0)
		result = error_set(err, errno, "pipe");
	else
		result = run(build, mode, &pipes, err);
	for (int i = 0; i < 2; i++) {
		pipes_close(&pipes.tar[i]);
		pipes_close(&pipes.log[i]);
		pipes_close(&pipes.progress[i]);
	}
	return result;
}
