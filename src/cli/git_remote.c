/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_remote.c - the remote sandbox-NAME in a repository of the host
 *
 * A guest may have written to that repository, so no git runs in it: git edits
 * a copy of its config in a folder of ours, with every other configuration
 * switched off, and the copy is put in place as git itself would do it, under
 * config.lock and without following a link.
 */
#include "cli/git_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define CONFIG_FILE "config"
#define CONFIG_LOCK "config.lock"
#define COPY_FILE "git-config"
#define CONFIG_MAX (1u << 20)
#define ARGS_MAX 8
#define LOCK_TRIES 100

struct edit {
	const char *name;
	int folder;  /* owned: of the repository */
	int lock;    /* owned: the new config */
	int scratch; /* borrowed */
	bool locked; /* config.lock is ours to remove */
	bool changed;
	struct stat st; /* of the config */
};

static int open_folder(const char *path, struct error *err)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? error_set(err, errno, "%s", path) : fd;
}

/* Another git may be at it: waits a second. */
static int take_lock(struct edit *edit, struct error *err)
{
	struct timespec nap = { .tv_nsec = 10000000 };

	for (int i = 0; i < LOCK_TRIES; i++) {
		edit->lock = openat(edit->folder, CONFIG_LOCK,
				    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
					    O_CLOEXEC,
				    0600);
		if (edit->lock >= 0 || errno != EEXIST)
			break;
		nanosleep(&nap, NULL);
	}
	if (edit->lock < 0)
		return error_set(err, errno, CONFIG_LOCK);
	edit->locked = true;
	return 0;
}

static int copy_out(struct edit *edit, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CONFIG_MAX);

	if (fstatat(edit->folder, CONFIG_FILE, &edit->st, AT_SYMLINK_NOFOLLOW) <
	    0)
		return error_set(err, errno, CONFIG_FILE);
	if (fileio_read(edit->folder, CONFIG_FILE, &text, err) < 0)
		return -1;
	return fileio_replace(edit->scratch, COPY_FILE, text.data, text.len,
			      0600, 0, err);
}

static int git(struct edit *edit, const char *const *args, struct buffer *out,
	       struct error *err)
{
	static const char *const env[] = { "GIT_CONFIG_NOSYSTEM=1",
					   "GIT_CONFIG_GLOBAL=/dev/null",
					   "GIT_CEILING_DIRECTORIES=/",
					   "GIT_DIR=/nonexistent",
					   "HOME=/nonexistent",
					   "LC_ALL=C.UTF-8",
					   NULL };
	const char *tool = child_tool("git", err);
	AUTO_FREE char *file = NULL;
	const char *argv[ARGS_MAX + 5];
	struct child_spec spec = { .path = tool, .argv = argv, .env = env };
	char folder[4096], link[64];
	ssize_t len;
	size_t n = 0;

	if (!tool)
		return error_set(err, 0, "git is not installed");
	text_format(link, sizeof(link), "/proc/self/fd/%d", edit->scratch);
	len = readlink(link, folder, sizeof(folder) - 1);
	if (len < 0)
		return error_set(err, errno, "%s", link);
	folder[len] = '\0';
	file = xasprintf("%s/" COPY_FILE, folder);
	argv[n++] = "git";
	argv[n++] = "config";
	argv[n++] = "-f";
	argv[n++] = file;
	for (size_t i = 0; args[i] && i < ARGS_MAX; i++)
		argv[n++] = args[i];
	argv[n] = NULL;
	return child_run(&spec, out, err);
}

/* entry is "KEY\nVALUE"; names may have dots too. */
static bool is_key_of(const char *entry, const char *section)
{
	size_t len = strlen(section);

	return text_starts(entry, section) &&
	       entry[len + strcspn(entry + len, ".\n")] != '.';
}

/* 1: ours is there; 0: none; -1: one of another kind. */
static int look(struct edit *edit, struct error *err)
{
	static const char *const list[] = { "--list", "-z", NULL };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4 * CONFIG_MAX);
	AUTO_FREE char *section = xasprintf("remote.sandbox-%s.", edit->name);
	AUTO_FREE char *ours =
		xasprintf("%surl\nbawn::%s", section, edit->name);
	bool some = false, found = false;
	const char *text;

	if (git(edit, list, &out, err) < 0)
		return -1;
	text = buffer_str(&out);
	for (size_t at = 0; text && at < out.len; at += strlen(text + at) + 1) {
		some |= is_key_of(text + at, section);
		found |= !strcmp(text + at, ours);
	}
	if (some && !found)
		return error_set(err, EEXIST,
				 "there is another remote sandbox-%s",
				 edit->name);
	return found;
}

static int set(struct edit *edit, const char *key, const char *value,
	       struct error *err)
{
	AUTO_FREE char *whole =
		xasprintf("remote.sandbox-%s.%s", edit->name, key);
	const char *args[] = { whole, value, NULL };

	return git(edit, args, NULL, err);
}

static int add(struct edit *edit, struct error *err)
{
	AUTO_FREE char *url = xasprintf("bawn::%s", edit->name);
	AUTO_FREE char *refs = xasprintf(
		"+refs/heads/*:refs/remotes/sandbox-%s/*", edit->name);
	int found = look(edit, err);

	if (found)
		return found < 0 ? -1 : 0;
	edit->changed = true;
	/* a guest's tags would stand beside the user's own */
	if (set(edit, "url", url, err) < 0 ||
	    set(edit, "fetch", refs, err) < 0 ||
	    set(edit, "tagOpt", "--no-tags", err) < 0)
		return -1;
	return 0;
}

static int take_away(struct edit *edit, struct error *err)
{
	AUTO_FREE char *section = xasprintf("remote.sandbox-%s", edit->name);
	const char *args[] = { "--remove-section", section, NULL };

	if (look(edit, NULL) != 1)
		return 0;
	edit->changed = true;
	return git(edit, args, NULL, err);
}

static int put_back(struct edit *edit, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(2 * CONFIG_MAX);

	if (!edit->changed)
		return 0;
	if (fileio_read(edit->scratch, COPY_FILE, &text, err) < 0 ||
	    fileio_write_all(edit->lock, text.data, text.len, err) < 0)
		return -1;
	if (geteuid() == 0 &&
	    fchown(edit->lock, edit->st.st_uid, edit->st.st_gid) < 0)
		return error_set(err, errno, CONFIG_LOCK);
	if (fchmod(edit->lock, edit->st.st_mode & 0777) < 0 ||
	    fsync(edit->lock) < 0 ||
	    renameat(edit->folder, CONFIG_LOCK, edit->folder, CONFIG_FILE) < 0)
		return error_set(err, errno, CONFIG_FILE);
	edit->locked = false;
	return 0;
}

static int run(const char *git_folder, const char *name, int scratch,
	       int (*change)(struct edit *edit, struct error *err),
	       struct error *err)
{
	struct edit edit = { .name = name, .scratch = scratch, .lock = -1 };
	int result = -1;

	edit.folder = open_folder(git_folder, err);
	if (edit.folder >= 0 && take_lock(&edit, err) == 0 &&
	    copy_out(&edit, err) == 0 && change(&edit, err) == 0)
		result = put_back(&edit, err);
	(void)unlinkat(scratch, COPY_FILE, 0);
	if (edit.locked)
		(void)unlinkat(edit.folder, CONFIG_LOCK, 0);
	if (edit.lock >= 0)
		close(edit.lock);
	if (edit.folder >= 0)
		close(edit.folder);
	return result;
}

int git_remote_add(const char *git_folder, const char *name, int scratch,
		   struct error *err)
{
	return run(git_folder, name, scratch, add, err);
}

int git_remote_remove(const char *git_folder, const char *name, int scratch,
		      struct error *err)
{
	return run(git_folder, name, scratch, take_away, err);
}
