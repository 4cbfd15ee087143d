/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.c - what bawn-init does when it is not the first process
 *
 * Run as root in a session, so it does not trust the guest's users more than
 * anybody else: it follows links only in the path that the host's user named.
 */
#include "guest/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/newer.h"
#include "guest/overlay.h"
#include "guest/raw_disk.h"
#include "guest/saved_root.h"
#include "guest/seed.h"
#include "guest/spool.h"
#include "guest/trust.h"
#include "tree/tree_copy.h"
#include "tree/tree_walk.h"

#define AGENT_UID 1000
#define ROOT_VIEW "/run/bawn/root"
#define READ_BYTES (128u * 1024)
#define OUT_BYTES (256u * 1024)
#define PIPE_BYTES (1 << 20)
#define DISCARD_BYTES_MAX (4u << 20)
#define MOUNTS_BYTES_MAX (1u << 20)
#define PEM_BYTES_MAX (64u << 10)
/* It is the guest's own disk that fills up. */
#define ENTRIES_MAX (8u * 1000 * 1000)

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
	told_to_end = number;
}

/* The host's command went away: what is half written must go as well. */
static void begin(void)
{
	static const int caught[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* fewer turns between us and the first process; it may be no pipe */
	(void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

/* Heads and small files together: each write wakes the first process. */
static uint8_t out[OUT_BYTES];
static size_t out_len;

static int flush(struct error *err)
{
	size_t len = out_len;

	out_len = 0;
	return fileio_write_all(STDOUT_FILENO, out, len, err);
}

static int put(void *ctx, const void *bytes, size_t len, struct error *err)
{
	if (out_len + len > sizeof(out) && flush(err) < 0)
		return -1;
	if (len >= sizeof(out))
		return fileio_write_all(STDOUT_FILENO, bytes, len, err);
	memcpy(out + out_len, bytes, len);
	out_len += len;
	return 0;
}

static void skipped(void *ctx, const char *path, const char *why)
{
	char shown[256];

	text_printable(path, strlen(path), shown, sizeof(shown));
	fprintf(stderr, "%s: %s\n", shown, why);
}

static int tar_out(char **args, struct error *err)
{
	struct tree_place place = { .base = AT_FDCWD, .path = args[0] };
	struct tree_walk_setup setup = { .put = put, .skipped = skipped };

	return tree_pack(&place, &setup, err);
}

/*
 * The disk's own files, without what is mounted on it: seen through a second
 * mount of the root, which nobody else sees.
 */
static int view_root(struct error *err)
{
	if (mkdir(ROOT_VIEW, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, ROOT_VIEW);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0 ||
	    mount("/", ROOT_VIEW, NULL, MS_BIND, NULL) < 0)
		return error_set(err, errno, "second mount of the root");
	return 0;
}

static int root_out(char **args, struct error *err)
{
	struct tree_walk_setup setup = { .put = put,
					 .skipped = skipped,
					 .flags = TREE_WALK_DISK };

	if (view_root(err) < 0)
		return -1;
	return tree_walk(AT_FDCWD, ROOT_VIEW, "", &setup, err);
}

/*
 * A copy of a sandbox's disk as the root of an image, onto the spool. On stdin
 * the mount points of the host's folders, each ended by a NUL.
 */
static int save_out(char **args, struct error *err)
{
	struct tree_walk_setup setup = { .put = spool_put,
					 .read = raw_disk_read,
					 .choose = saved_root_choose,
					 .flags = TREE_WALK_DISK };
	AUTO_BUFFER struct buffer paths = BUFFER_INIT(MOUNTS_BYTES_MAX);
	AUTO_BUFFER struct buffer pem = BUFFER_INIT(PEM_BYTES_MAX);

	if (fileio_read_fd(STDIN_FILENO, &paths, err) < 0 ||
	    spool_open(err) < 0)
		return -1;
	raw_disk_open();
	/* "" where the sandbox has no authority */
	(void)fileio_read(AT_FDCWD, TRUST_FILE, &pem, NULL);
	if (view_root(err) < 0 || buffer_append(&pem, "", 1) < 0)
		return -1;
	/* links of the disk lead to where they led */
	if (chroot(ROOT_VIEW) < 0 || chdir("/") < 0)
		return error_set(err, errno, "the disk as the root");
	if (saved_root_hide("", (const char *)paths.data, paths.len, err) < 0)
		return -1;
	saved_root_clean("", (const char *)pem.data);
	raw_disk_begin();
	if (tree_walk(AT_FDCWD, "/", "", &setup, err) < 0)
		return -1;
	return spool_finish(err);
}

static int feed(struct tree_unpack *unpack, struct error *err)
{
	static uint8_t bytes[READ_BYTES];

	while (!told_to_end) {
		ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));

		if (got == 0)
			return tree_unpack_finish(unpack, err);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "stdin");
		if (tree_unpack_feed(unpack, bytes, (size_t)got, err) < 0)
			return -1;
	}
	return error_set(err, EINTR, "copy");
}

static int unpack(const char *path, bool as_it_is, struct error *err)
{
	struct tree_unpack_setup setup = {
		.place = { .base = AT_FDCWD, .path = path },
		.as_it_is = as_it_is,
		.owner = AGENT_UID,
		.limits = { .entries = ENTRIES_MAX, .bytes = INT64_MAX },
	};
	struct tree_unpack *tree = tree_unpack_new(&setup);
	int result = feed(tree, err);

	tree_unpack_free(tree);
	return result;
}

static int copy_in(char **args, struct error *err)
{
	return unpack(args[0], false, err);
}

static int tar_in(char **args, struct error *err)
{
	return unpack(args[0], true, err);
}

static int read_number(const char *text, unsigned *number, struct error *err)
{
	uint64_t value;

	if (text_to_u64(text, 0, 63, &value) < 0)
		return error_set(err, 0, "no share has this number");
	*number = (unsigned)value;
	return 0;
}

/* What was changed over a shared folder, as an archive with notes. */
static int changes(char **args, struct error *err)
{
	struct tree_walk_setup setup = { .put = put,
					 .skipped = skipped,
					 .flags = TREE_WALK_CHANGES };
	char upper[OVERLAY_PATH_MAX];
	unsigned number = 0;

	if (read_number(args[0], &number, err) < 0)
		return -1;
	overlay_upper(number, upper);
	return tree_walk(AT_FDCWD, upper, "", &setup, err);
}

/* Which changes come on stdin, each path ended by a NUL. */
static int discard(char **args, struct error *err)
{
	AUTO_BUFFER struct buffer paths = BUFFER_INIT(DISCARD_BYTES_MAX);
	unsigned number = 0;

	if (read_number(args[0], &number, err) < 0 ||
	    fileio_read_fd(STDIN_FILENO, &paths, err) < 0)
		return -1;
	return overlay_discard(number, args[1], (const char *)paths.data,
			       paths.len, err);
}

/* Files of an agent's home from stdin; those that are there to stdout. */
static int seed(char **args, struct error *err)
{
	bool replace = strcmp(args[0], "replace") == 0;
	int home = -1, result;

	if (!replace && strcmp(args[0], "new") != 0)
		return error_set(err, 0, "new or replace");
	if (seed_become_agent(&home, err) < 0)
		return -1;
	result = seed_serve(home, replace ? SEED_REPLACE : SEED_NEW,
			    STDIN_FILENO, STDOUT_FILENO, err);
	close(home);
	return result;
}

/* A number is the upper folder of that share. */
static int newer(char **args, struct error *err)
{
	char upper[OVERLAY_PATH_MAX];
	const char *path = args[0];
	AUTO_CLOSE int folder = -1;
	unsigned number = 0;
	uint64_t since;

	if (path[0] != '/') {
		if (read_number(path, &number, err) < 0)
			return -1;
		overlay_upper(number, upper);
		path = upper;
	}
	if (text_to_u64(args[1], 0, UINT64_MAX, &since) < 0)
		return error_set(err, 0, "no time");
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder < 0 ? error_set(err, errno, "%s", path)
			  : newer_list(folder, since, STDOUT_FILENO, err);
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **args, struct error *err);
} tools[] = {
	{ "tar-out", 1, tar_out },   /* PATH to stdout */
	{ "root-out", 0, root_out }, /* the disk to stdout */
	{ "save-out", 0, save_out }, /* the disk as an image, to the spool */
	{ "tar-in", 1, tar_in },     /* stdin into the folder PATH */
	{ "copy-in", 1, copy_in },   /* what tar-out wrote, to PATH */
	{ "changes", 1, changes },   /* of share NUMBER, to stdout */
	{ "seed", 1, seed },         /* files of the home, MODE */
	{ "newer", 2, newer },       /* files in PLACE since TIME */
	{ "discard", 2,
	  discard }, /* changes of share NUMBER, mounted on PATH */
};

int tool_run(int argc, char **argv)
{
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (argc < 2 || strcmp(argv[1], tools[i].name) != 0 ||
		    argc != tools[i].args + 2)
			continue;
		begin();
		if (tools[i].run(argv + 2, &err) == 0 && flush(&err) == 0)
			return 0;
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	fprintf(stderr, "bawn-init: this is the first process of a sandbox's "
			"machine\n");
	return 2;
}
