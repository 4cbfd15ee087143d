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
#include <time.h>
#include <unistd.h>
#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/template_build.h"
#include "provision/template_ini.h"
#include "state/paths.h"

#define VERSION 1
#define JSON_MAX (64u << 10)
#define NAMES_MAX 4096

AUTO_DEFINE(json, json_t *, json_decref)

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

static int check_disk(int folder_fd, json_t *root, struct template *template,
		      struct error *err)
{
	struct stat st;

	if (fstatat(folder_fd, "disk.ext4", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "disk.ext4");
	/* Whoever can write a root disk decides what runs on it. */
	if (!S_ISREG(st.st_mode) ||
	    (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, EPERM,
				 "disk.ext4 belongs to another "
				 "user");
	if (json_integer_value(json_object_get(root, "disk_bytes")) !=
		    st.st_size ||
	    (ino_t)json_integer_value(json_object_get(root, "disk_inode")) !=
		    st.st_ino ||
	    json_integer_value(json_object_get(root, "disk_mtime_ns")) !=
		    (json_int_t)st.st_mtim.tv_sec * 1000000000 +
			    st.st_mtim.tv_nsec)
		return error_set(err, EBADMSG,
				 "disk.ext4 was changed after it was made "
				 "(remove the template and make it again)");
	template->size_bytes = (uint64_t)st.st_size;
	template->used_bytes = (uint64_t)st.st_blocks * 512;
	return 0;
}

static int load_from(enum paths_kind kind, const char *name,
		     struct template *template, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(JSON_MAX);
	AUTO_FREE char *sub = xasprintf("templates/%s", name);
	AUTO_FREE char *folder = paths_of(kind, sub, err);
	AUTO_CLOSE int folder_fd = -1;
	AUTO(json) json_t *root = NULL;
	const char *id, *source;

	if (!folder)
		return -1;
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0)
		return error_set(err, errno, "%s", folder);
	if (fileio_read(folder_fd, "template.json", &text, err) < 0)
		return -1;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	id = json_string_value(json_object_get(root, "id"));
	source = json_string_value(json_object_get(root, "source"));
	if (!id || !source ||
	    json_integer_value(json_object_get(root, "version")) != VERSION)
		return error_set(err, EBADMSG, "%s/template.json: damaged",
				 folder);
	if (check_disk(folder_fd, root, template, err) < 0)
		return error_prefix(err, "%s", folder);
	template->name = xstrdup(name);
	template->id = xstrdup(id);
	template->source = xstrdup(source);
	template->disk = xasprintf("%s/disk.ext4", folder);
	template->created =
		json_integer_value(json_object_get(root, "created"));
	template->system = kind == PATHS_SYSTEM;
	return 0;
}

static int check_name(const char *name, struct error *err)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (!*name || name[len] || name[0] == '.' || len > 128)
		return error_set(err, ENOENT,
				 "there is no template of that "
				 "name");
	return 0;
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
	return error_set(err, ENOENT, "template %s", name);
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

static int write_manifest(int folder_fd, const struct template_build *build,
			  struct error *err)
{
	AUTO(json) json_t *root = NULL;
	AUTO_FREE char *text = NULL;
	struct stat st;

	if (fchmod(build->disk_fd, 0444) < 0 || fsync(build->disk_fd) < 0 ||
	    fstat(build->disk_fd, &st) < 0)
		return error_set(err, errno, "disk.ext4");
	root = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "version",
			 VERSION, "name", build->name, "id", build->id,
			 "source", build->source, "created",
			 (json_int_t)time(NULL), "disk_bytes",
			 (json_int_t)st.st_size, "disk_inode",
			 (json_int_t)st.st_ino, "disk_mtime_ns",
			 (json_int_t)st.st_mtim.tv_sec * 1000000000 +
				 st.st_mtim.tv_nsec);
	text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	if (!text)
		return error_set(err, 0, "template.json: cannot be written");
	return fileio_replace(folder_fd, "template.json", text, strlen(text),
			      0444, FILEIO_SYNC, err);
}

static int build_into(int out_fd, struct template_build *build,
		      struct error *err)
{
	const struct template_builder *builder = template_builders;
	AUTO_CLOSE int disk =
		openat(out_fd, "disk.ext4",
		       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (disk < 0)
		return error_set(err, errno, "disk.ext4");
	build->disk_fd = disk;
	while (builder->name && strcmp(builder->name, build->ini->builder) != 0)
		builder++;
	if (!builder->name)
		return error_set(err, 0, "unknown builder \"%s\"",
				 build->ini->builder);
	if (builder->run(build, err) < 0)
		return -1;
	return write_manifest(out_fd, build, err);
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
			return error_set(err, ENOENT, "template %s", name);
		if (err)
			*err = own;
		return -1;
	}
	result = make_locked(name, place, &ini, progress, template, err);
	template_ini_release(&ini);
	return result < 0 ? error_prefix(err, "template %s", name) : 0;
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
