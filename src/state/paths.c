/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - where things lie
 *
 * Programs of ours are found from /proc/self/exe alone: a PATH or a current
 * folder that somebody else controls must never choose what root starts.
 */
#include "state/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

static const struct {
	const char *own;      /* beneath BAWN_HOME */
	const char *variable; /* XDG, or the variable of the system folder */
	const char *fallback; /* beneath HOME */
} kinds[] = {
	[PATHS_STATE] = { "state", "XDG_STATE_HOME", ".local/state" },
	[PATHS_CACHE] = { "cache", "XDG_CACHE_HOME", ".cache" },
	[PATHS_CONFIG] = { "config", "XDG_CONFIG_HOME", ".config" },
	[PATHS_DATA] = { "data", "XDG_DATA_HOME", ".local/share" },
	[PATHS_SYSTEM] = { NULL, "BAWN_SYSTEM_DIR", NULL },
};
_Static_assert(ARRAY_SIZE(kinds) == PATHS_KINDS, "a row for each kind");

#define SYSTEM_DIR "/var/lib/bawn"

static char *absolute(const char *path, struct error *err)
{
	char here[PATH_MAX];

	if (*path == '/')
		return xstrdup(path);
	if (!getcwd(here, sizeof(here))) {
		error_set(err, errno, "current folder");
		return NULL;
	}
	return xasprintf("%s/%s", here, path);
}

static const char *set_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *home_folder(struct error *err)
{
	const char *home = set_variable("HOME");
	const struct passwd *user;

	if (home && *home == '/')
		return xstrdup(home);
	user = getpwuid(getuid());
	if (user && user->pw_dir && *user->pw_dir == '/')
		return xstrdup(user->pw_dir);
	error_set(err, 0, "no home folder is known (set HOME or BAWN_HOME)");
	return NULL;
}

static char *root_of(enum paths_kind kind, struct error *err)
{
	const char *own = set_variable("BAWN_HOME");
	const char *xdg = set_variable(kinds[kind].variable);
	AUTO_FREE char *base = NULL;

	if (kind == PATHS_SYSTEM)
		return absolute(xdg ? xdg : SYSTEM_DIR, err);
	if (own) {
		base = absolute(own, err);
		return base ? xasprintf("%s/%s", base, kinds[kind].own) : NULL;
	}
	/* the XDG specification: a relative value is to be ignored */
	if (xdg && *xdg == '/')
		return xasprintf("%s/bawn", xdg);
	base = home_folder(err);
	if (!base)
		return NULL;
	return xasprintf("%s/%s/bawn", base, kinds[kind].fallback);
}

char *paths_of(enum paths_kind kind, const char *sub, struct error *err)
{
	AUTO_FREE char *root = root_of(kind, err);

	if (!root)
		return NULL;
	if (!sub)
		return TAKE_PTR(root);
	return xasprintf("%s/%s", root, sub);
}

static int refused(const char *path, struct error *err)
{
	int code = err ? err->code : 0;

	if (code != EROFS && code != EACCES && code != EPERM)
		return -1;
	return error_set(err, 0,
			 "%s: %s (set BAWN_HOME to a folder that you can "
			 "write)",
			 path, strerror(code));
}

int paths_open(enum paths_kind kind, const char *sub, struct error *err)
{
	AUTO_FREE char *path = paths_of(kind, sub, err);
	struct error own = { 0 };
	int fd;

	if (!path)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno != ENOENT || kind == PATHS_SYSTEM)
		return error_set(err, errno, "%s", path);
	if (!err)
		err = &own;
	if (fileio_mkdirs(path, 0700, err) < 0)
		return refused(path, err);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "%s", path);
}

/* Where the build puts what an installation has in one folder. */
static const struct {
	const char *name, *folder;
} build_places[] = {
	{ "bawn", "cli" },
	{ "bawn-supervisor", "supervisor" },
	{ "bawn-ramshim.so", "supervisor" },
	{ "bawn-launch", "launch" },
	{ "bawn-files", "files" },
	{ "bawn-net", "net" },
	{ "bawn-keys", "keys" },
	{ "bawn-layers", "layers" },
	{ "bawn-ssh", "ssh" },
	{ "bawn-ca", "ca" },
	{ "bawn-image", "image" },
	{ "bawn-registry", "image" },
	{ "bawn-init", "guest" },
};

static char *executable(struct error *err)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len < 0) {
		error_set(err, errno, "/proc/self/exe");
		return NULL;
	}
	path[len] = '\0';
	return xstrdup(path);
}

/* Cuts "/x/y/z" to "/x/y"; false when nothing is left. */
static bool parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

/* The build folder that this program lies in, or NULL: it is installed. */
static char *build_root(const char *exe)
{
	static const char *const marks[] = { "/src/", "/tests/" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *hit = NULL, *next = exe;

		while ((next = strstr(next, marks[i])))
			hit = next++;
		if (hit)
			return xstrndup(exe, (size_t)(hit - exe));
	}
	return NULL;
}

static char *if_there(char *path)
{
	if (path && access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *in_build(const char *exe, const char *name)
{
	AUTO_FREE char *root = build_root(exe);

	for (size_t i = 0; root && i < ARRAY_SIZE(build_places); i++)
		if (!strcmp(build_places[i].name, name))
			return if_there(xasprintf("%s/src/%s/%s", root,
						  build_places[i].folder,
						  name));
	return NULL;
}

char *paths_helper(const char *name, struct error *err)
{
	AUTO_FREE char *exe = executable(err);
	AUTO_FREE char *folder = NULL;
	char *found;

	if (!exe)
		return NULL;
	folder = xstrdup(exe);
	if (!parent(folder))
		folder[0] = '\0';
	found = if_there(xasprintf("%s/%s", folder, name));
	if (!found && parent(folder))
		found = if_there(xasprintf("%s/libexec/bawn/%s", folder, name));
	if (!found)
		found = in_build(exe, name);
	if (!found)
		error_set(err, ENOENT, "%s (install bawn again)", name);
	return found;
}

char *paths_data_file(const char *name, struct error *err)
{
	AUTO_FREE char *exe = executable(err);
	AUTO_FREE char *root = NULL, *folder = NULL;
	char *found = NULL;

	if (!exe)
		return NULL;
	folder = xstrdup(exe);
	/* programs lie in PREFIX/bin and in PREFIX/libexec/bawn */
	for (int up = 0; up < 3 && !found && parent(folder); up++)
		found = if_there(xasprintf("%s/share/bawn/%s", folder, name));
	root = found ? NULL : build_root(exe);
	if (root)
		found = if_there(xasprintf("%s/data-files/%s", root, name));
	if (!found)
		error_set(err, ENOENT, "%s (install bawn again)", name);
	return found;
}
