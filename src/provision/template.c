/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template.c - root file systems as read-only ext4 images: finding, making
 */
#include "provision/template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/template_build.h"
#include "provision/template_ini.h"
#include "provision/template_manifest.h"
#include "state/paths.h"

#define NAMES_MAX 4096

const struct template_builder template_builders[] = {
	{ "mmdebstrap", template_build_debian },
	{ "busybox", template_build_busybox },
	{ NULL, NULL },
};

void template_release(struct template *template)
{
	free(template->name);
	free(template->id);
	free(template->disk);
	free(template->source);
	*template = (struct template){ 0 };
}

/* ---- finding ---- */

static int open_folder(enum paths_kind kind, const char *name, char **path,
		       struct error *err)
{
	AUTO_FREE char *sub = xasprintf("templates/%s", name);
	int fd;

	*path = paths_of(kind, sub, err);
	if (!*path)
		return -1;
	fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "%s", *path);
}

static int load_from(enum paths_kind kind, const char *name,
		     struct template *template, struct error *err)
{
	AUTO_FREE char *folder = NULL;
	AUTO_CLOSE int folder_fd = open_folder(kind, name, &folder, err);

	if (folder_fd < 0)
		return -1;
	if (template_manifest_load(folder_fd, template, err) < 0)
		return error_prefix(err, "%s", folder);
	template->name = xstrdup(name);
	template->disk = xasprintf("%s/" TEMPLATE_DISK, folder);
	template->system = kind == PATHS_SYSTEM;
	return 0;
}

static int no_such(const char *name, struct error *err)
{
	char shown[80];

	text_printable(name, strlen(name), shown, sizeof(shown));
	return error_say(
		err, ENOENT,
		"there is no template \"%s\" (`bawn template ls` shows those "
		"there are; base and tiny are made when they are asked for)",
		shown);
}

static int check_name(const char *name, struct error *err)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return *name && !name[len] && name[0] != '.' && len <= 128
		       ? 0
		       : no_such(name, err);
}

int template_find(const char *name, struct template *template,
		  struct error *err)
{
	static const enum paths_kind kinds[] = { PATHS_DATA, PATHS_SYSTEM };
	struct error own = { 0 };

	*template = (struct template){ 0 };
	if (check_name(name, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (load_from(kinds[i], name, template, &own) == 0)
			return 0;
		if (own.code != ENOENT && own.code != EACCES) {
			if (err)
				*err = own;
			return error_prefix(err, "template %s", name);
		}
	}
	return no_such(name, err);
}

/* ---- making ---- */

static int check_space(int fd, const char *place, uint64_t needs,
		       struct error *err)
{
	struct statvfs fs;
	char want[16], have[16];
	uint64_t room;

	if (fstatvfs(fd, &fs) < 0)
		return error_set(err, errno, "%s", place);
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (room >= needs)
		return 0;
	text_from_size(needs, want, sizeof(want));
	text_from_size(room, have, sizeof(have));
	return error_set(err, ENOSPC, "it needs %s in %s, and %s are free",
			 want, place, have);
}

static int build_into(int out_fd, struct template_build *build,
		      struct error *err)
{
	const struct template_builder *builder = template_builders;
	AUTO_CLOSE int disk =
		openat(out_fd, TEMPLATE_DISK,
		       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (disk < 0)
		return error_set(err, errno, TEMPLATE_DISK);
	build->disk_fd = disk;
	while (builder->name && strcmp(builder->name, build->ini->builder) != 0)
		builder++;
	if (!builder->name)
		return error_set(err, 0, "unknown builder \"%s\"",
				 build->ini->builder);
	if (builder->run(build, err) < 0)
		return -1;
	return template_manifest_save(out_fd, build, err);
}

static int make_folder(int parent_fd, const char *name, mode_t mode,
		       struct error *err)
{
	int fd;

	if (mkdirat(parent_fd, name, 0700) < 0)
		return error_set(err, errno, "%s", name);
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, mode) < 0)
		return error_set(err, errno, "%s", name);
	return fd;
}

/* The lock is held. Leaves either the whole template or nothing. */
static int make(const char *store, int store_fd, const char *name,
		enum template_place place, const struct template_ini *ini,
		const struct progress *progress, struct error *err)
{
	AUTO_FREE char *temp = xasprintf(".making-%s", name);
	AUTO_FREE char *work_path = xasprintf("%s/%s/work", store, temp);
	AUTO_CLOSE int temp_fd = -1, work_fd = -1, out_fd = -1;
	struct template_build build = { .name = name,
					.ini = ini,
					.folder = work_path,
					.progress = progress };

	/* What a killed maker left. */
	if (fileio_remove_tree(store_fd, temp, err) < 0)
		return -1;
	temp_fd = make_folder(store_fd, temp, 0700, err);
	if (temp_fd < 0)
		return -1;
	work_fd = make_folder(temp_fd, "work", 0700, err);
	out_fd = work_fd < 0
			 ? -1
			 : make_folder(temp_fd, "out",
				       place == TEMPLATE_SYSTEM ? 0755 : 0700,
				       err);
	if (out_fd < 0)
		return -1;
	build.folder_fd = work_fd;
	if (build_into(out_fd, &build, err) < 0 ||
	    fileio_remove_tree(store_fd, name, err) < 0)
		return -1;
	if (renameat(temp_fd, "out", store_fd, name) < 0)
		return error_set(err, errno, "%s", name);
	if (fsync(store_fd) < 0)
		return error_set(err, errno, "%s", store);
	return 0;
}

static int open_store(enum template_place place, char **path, struct error *err)
{
	enum paths_kind kind =
		place == TEMPLATE_SYSTEM ? PATHS_SYSTEM : PATHS_DATA;
	AUTO_FREE char *parent = NULL;
	int fd;

	*path = paths_of(kind, "templates", err);
	if (!*path)
		return -1;
	if (kind == PATHS_DATA)
		return paths_open(kind, "templates", err);
	if (geteuid() != 0)
		return error_set(err, EPERM,
				 "the system-wide folder is root's (use sudo)");
	parent = paths_of(kind, NULL, err);
	if (!parent || fileio_mkdirs(*path, 0755, err) < 0)
		return -1;
	/* Whatever the umask was: every user reads here. */
	if (chmod(parent, 0755) < 0 || chmod(*path, 0755) < 0)
		return error_set(err, errno, "%s", *path);
	fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "%s", *path);
}

static int make_locked(const char *name, enum template_place place,
		       const struct template_ini *ini,
		       const struct progress *progress,
		       struct template *template, struct error *err)
{
	enum paths_kind kind =
		place == TEMPLATE_SYSTEM ? PATHS_SYSTEM : PATHS_DATA;
	AUTO_FREE char *store = NULL, *lock_name = NULL, *temp = NULL;
	AUTO_CLOSE int store_fd = open_store(place, &store, err);
	AUTO_CLOSE int lock = -1;
	struct error missing = { 0 };
	int result;

	if (store_fd < 0)
		return -1;
	lock_name = xasprintf(".lock-%s", name);
	lock = fileio_lock(store_fd, lock_name, FILEIO_LOCK_WAIT, err);
	if (lock < 0)
		return -1;
	/* Somebody may have made it while this one waited. */
	if (load_from(kind, name, template, &missing) == 0)
		return 0;
	if (check_space(store_fd, store, ini->needs_bytes, err) < 0)
		return -1;
	result = make(store, store_fd, name, place, ini, progress, err);
	progress_done(progress);
	temp = xasprintf(".making-%s", name);
	(void)fileio_remove_tree(store_fd, temp, NULL);
	if (result < 0)
		return -1;
	return load_from(kind, name, template, err);
}

int template_ensure(const char *name, enum template_place place,
		    const struct progress *progress, struct template *template,
		    struct error *err)
{
	struct template_ini ini;
	struct error own = { 0 };
	int result;

	if (template_find(name, template, &own) == 0) {
		if (place == TEMPLATE_USER || template->system)
			return 0;
		template_release(template);
	} else if (own.code != ENOENT) {
		if (err)
			*err = own;
		return -1;
	}
	if (check_name(name, err) < 0)
		return -1;
	if (template_ini_load(name, &ini, &own) < 0) {
		if (own.code == ENOENT)
			return no_such(name, err);
		if (err)
			*err = own;
		return -1;
	}
	result = make_locked(name, place, &ini, progress, template, err);
	template_ini_release(&ini);
	return result < 0 ? error_prefix(err, "template %s", name) : 0;
}

/* ---- checking and removing ---- */

int template_verify(const struct template *template, struct error *err)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int folder =
		open_folder(template->system ? PATHS_SYSTEM : PATHS_DATA,
			    template->name, &path, err);

	if (folder < 0)
		return -1;
	return template_manifest_verify(folder, err);
}

int template_remove(const char *name, enum template_place place,
		    struct error *err)
{
	AUTO_FREE char *store = NULL, *lock_name = NULL;
	AUTO_CLOSE int store_fd = -1, lock = -1;
	struct error busy = { 0 };

	if (check_name(name, err) < 0)
		return -1;
	store_fd = open_store(place, &store, err);
	if (store_fd < 0)
		return -1;
	lock_name = xasprintf(".lock-%s", name);
	lock = fileio_lock(store_fd, lock_name, FILEIO_LOCK_TRY, &busy);
	if (lock < 0)
		return error_set(err, 0, "template %s: %s", name,
				 busy.code == EWOULDBLOCK
					 ? "another bawn is making it just now"
					 : busy.text);
	if (faccessat(store_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return no_such(name, err);
	return fileio_remove_tree(store_fd, name, err);
}

/* ---- listing ---- */

struct names {
	char *list[NAMES_MAX];
	size_t count;
};

static void collect(enum paths_kind kind, struct names *names)
{
	AUTO_FREE char *path = paths_of(kind, "templates", NULL);
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;

	while (folder && (entry = readdir(folder)) && names->count < NAMES_MAX)
		if (entry->d_name[0] != '.')
			names->list[names->count++] = xstrdup(entry->d_name);
	if (folder)
		closedir(folder);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int template_each(void (*each)(void *ctx, const struct template *template),
		  void *ctx, struct error *err)
{
	AUTO_FREE struct names *names = xcalloc(1, sizeof(*names));
	struct template template;

	collect(PATHS_DATA, names);
	collect(PATHS_SYSTEM, names);
	qsort(names->list, names->count, sizeof(names->list[0]), by_name);
	for (size_t i = 0; i < names->count; i++) {
		bool repeated = i > 0 &&
				strcmp(names->list[i], names->list[i - 1]) == 0;

		if (!repeated &&
		    template_find(names->list[i], &template, NULL) == 0) {
			each(ctx, &template);
			template_release(&template);
		}
	}
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	return 0;
}
