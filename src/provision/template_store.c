/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_store.c - folders that hold one disk each, made whole or not at all
 */
#include "provision/template_store.h"

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
#include "base/text.h"
#include "provision/template_build.h"
#include "provision/template_manifest.h"

enum paths_kind template_store_kind(enum template_place place)
{
	return place == TEMPLATE_SYSTEM ? PATHS_SYSTEM : PATHS_DATA;
}

int template_store_folder(enum paths_kind kind, const char *sub,
			  const char *name, char **path, struct error *err)
{
	AUTO_FREE char *whole = xasprintf("%s/%s", sub, name);
	int fd;

	*path = paths_of(kind, whole, err);
	if (!*path)
		return -1;
	fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "%s", *path);
}

int template_store_load(enum paths_kind kind, const char *sub, const char *name,
			struct template *template, struct error *err)
{
	AUTO_FREE char *folder = NULL;
	AUTO_CLOSE int folder_fd =
		template_store_folder(kind, sub, name, &folder, err);

	if (folder_fd < 0)
		return -1;
	if (template_manifest_load(folder_fd, template, err) < 0)
		return error_prefix(err, "%s", folder);
	template->disk = xasprintf("%s/" TEMPLATE_DISK, folder);
	template->system = kind == PATHS_SYSTEM;
	return 0;
}

/* Whatever the umask was: every user reads here. */
static int open_system(struct template_store *store, const char *sub,
		       struct error *err)
{
	AUTO_FREE char *path = paths_of(PATHS_SYSTEM, NULL, err);
	AUTO_FREE char *parts = xstrdup(sub);
	char *rest = parts, *part;

	if (geteuid() != 0)
		return error_set(err, EPERM,
				 "the system-wide folder is root's (use sudo)");
	if (!path || fileio_mkdirs(store->path, 0755, err) < 0)
		return -1;
	do {
		char *longer;

		if (chmod(path, 0755) < 0)
			return error_set(err, errno, "%s", path);
		part = strsep(&rest, "/");
		longer = xasprintf("%s/%s", path, part ? part : "");
		free(path);
		path = longer;
	} while (part);
	store->fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return store->fd >= 0 ? 0 : error_set(err, errno, "%s", store->path);
}

int template_store_open(struct template_store *store, enum template_place place,
			const char *sub, struct error *err)
{
	enum paths_kind kind = template_store_kind(place);

	*store = (struct template_store){ .place = place, .fd = -1 };
	store->path = paths_of(kind, sub, err);
	if (!store->path)
		return -1;
	if (place == TEMPLATE_SYSTEM)
		return open_system(store, sub, err);
	store->fd = paths_open(kind, sub, err);
	return store->fd < 0 ? -1 : 0;
}

void template_store_close(struct template_store *store)
{
	free(store->path);
	if (store->fd >= 0)
		close(store->fd);
	*store = TEMPLATE_STORE_INIT;
}

int template_store_lock(const struct template_store *store, const char *name,
			bool wait, struct error *err)
{
	AUTO_FREE char *lock_name = xasprintf(".lock-%s", name);

	return fileio_lock(store->fd, lock_name,
			   wait ? FILEIO_LOCK_WAIT : FILEIO_LOCK_TRY, err);
}

int template_store_check_space(const struct template_store *store,
			       uint64_t needs, struct error *err)
{
	struct statvfs fs;
	char want[16], have[16];
	uint64_t room;

	if (fstatvfs(store->fd, &fs) < 0)
		return error_set(err, errno, "%s", store->path);
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (room >= needs)
		return 0;
	text_from_size(needs, want, sizeof(want));
	text_from_size(room, have, sizeof(have));
	return error_set(err, ENOSPC, "it needs %s in %s, and %s are free",
			 want, store->path, have);
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

int template_store_begin(struct template_making *making,
			 const struct template_store *store,
			 struct template_build *build, struct error *err)
{
	mode_t mode = store->place == TEMPLATE_SYSTEM ? 0755 : 0700;

	*making = (struct template_making){ .store = store,
					    .build = build,
					    .temp_fd = -1,
					    .work_fd = -1,
					    .out_fd = -1,
					    .disk_fd = -1 };
	making->temp = xasprintf(".making-%s", build->name);
	making->work = xasprintf("%s/%s/work", store->path, making->temp);
	/* What a killed maker left. */
	if (fileio_remove_tree(store->fd, making->temp, err) < 0)
		return -1;
	making->temp_fd = make_folder(store->fd, making->temp, 0700, err);
	if (making->temp_fd < 0)
		return -1;
	making->work_fd = make_folder(making->temp_fd, "work", 0700, err);
	if (making->work_fd < 0)
		return -1;
	making->out_fd = make_folder(making->temp_fd, "out", mode, err);
	if (making->out_fd < 0)
		return -1;
	making->disk_fd = openat(making->out_fd, TEMPLATE_DISK,
				 O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (making->disk_fd < 0)
		return error_set(err, errno, TEMPLATE_DISK);
	build->folder = making->work;
	build->folder_fd = making->work_fd;
	build->disk_fd = making->disk_fd;
	return 0;
}

int template_store_finish(struct template_making *making, struct error *err)
{
	const struct template_store *store = making->store;
	const char *name = making->build->name;

	if (template_manifest_save(making->out_fd, making->build, err) < 0 ||
	    fileio_remove_tree(store->fd, name, err) < 0)
		return -1;
	if (renameat(making->temp_fd, "out", store->fd, name) < 0)
		return error_set(err, errno, "%s", name);
	if (fsync(store->fd) < 0)
		return error_set(err, errno, "%s", store->path);
	return 0;
}

void template_store_end(struct template_making *making)
{
	int *const fds[] = { &making->temp_fd, &making->work_fd,
			     &making->out_fd, &making->disk_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	if (making->temp)
		(void)fileio_remove_tree(making->store->fd, making->temp, NULL);
	free(making->temp);
	free(making->work);
	making->temp = making->work = NULL;
}

int template_store_remove(const struct template_store *store, const char *name,
			  struct error *err)
{
	if (faccessat(store->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "%s", name);
	return fileio_remove_tree(store->fd, name, err);
}

void template_store_each(enum paths_kind kind, const char *sub,
			 void (*each)(void *ctx, const char *name), void *ctx)
{
	AUTO_FREE char *path = paths_of(kind, sub, NULL);
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			each(ctx, entry->d_name);
	if (folder)
		closedir(folder);
}

void template_store_clean(const struct template_store *store)
{
	static const char prefix[] = ".making-";
	DIR *folder = opendir(store->path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		AUTO_CLOSE int lock = -1;

		if (!text_starts(entry->d_name, prefix))
			continue;
		lock = template_store_lock(
			store, entry->d_name + strlen(prefix), false, NULL);
		if (lock >= 0)
			(void)fileio_remove_tree(store->fd, entry->d_name,
						 NULL);
	}
	if (folder)
		closedir(folder);
}
