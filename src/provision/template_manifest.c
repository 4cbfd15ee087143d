/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_manifest.c - template.json: what a template's disk must be
 */
#include "provision/template_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "provision/template.h"
#include "provision/template_build.h"
#include "state/digest.h"

#define MANIFEST "template.json"
#define VERSION 1
#define JSON_MAX (64u << 10)

AUTO_DEFINE(json, json_t *, json_decref)

static json_int_t mtime_ns(const struct stat *st)
{
	return (json_int_t)st->st_mtim.tv_sec * 1000000000 +
	       st->st_mtim.tv_nsec;
}

static void note_place(json_t *root, const struct stat *st)
{
	json_object_set_new(root, "disk_inode",
			    json_integer((json_int_t)st->st_ino));
	json_object_set_new(root, "disk_mtime_ns", json_integer(mtime_ns(st)));
}

static int save(int folder_fd, const json_t *root, struct error *err)
{
	AUTO_FREE char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;

	if (!text)
		return error_set(err, 0, MANIFEST ": cannot be written");
	return fileio_replace(folder_fd, MANIFEST, text, strlen(text), 0444,
			      FILEIO_SYNC, err);
}

int template_manifest_save(int folder_fd, const struct template_build *build,
			   struct error *err)
{
	AUTO(json) json_t *root = NULL;
	char digest[DIGEST_HEX];
	struct stat st;

	if (fchmod(build->disk_fd, 0444) < 0 || fsync(build->disk_fd) < 0 ||
	    fstat(build->disk_fd, &st) < 0)
		return error_set(err, errno, TEMPLATE_DISK);
	if (digest_sparse_fd(build->disk_fd, digest, err) < 0)
		return error_prefix(err, TEMPLATE_DISK);
	root = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:s}", "version",
			 VERSION, "name", build->name, "id", build->id,
			 "source", build->source, "created",
			 (json_int_t)time(NULL), "disk_bytes",
			 (json_int_t)st.st_size, "disk_digest", digest);
	if (root)
		note_place(root, &st);
	return save(folder_fd, root, err);
}

static json_t *load(int folder_fd, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(JSON_MAX);
	AUTO(json) json_t *root = NULL;

	if (fileio_read(folder_fd, MANIFEST, &text, err) < 0)
		return NULL;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (json_is_string(json_object_get(root, "id")) &&
	    json_is_string(json_object_get(root, "source")) &&
	    json_integer_value(json_object_get(root, "version")) == VERSION)
		return TAKE_PTR(root);
	error_set(err, EBADMSG, MANIFEST " is damaged");
	return NULL;
}

static int compare_content(int folder_fd, const json_t *root, struct error *err)
{
	const char *want =
		json_string_value(json_object_get(root, "disk_digest"));
	AUTO_CLOSE int disk = openat(folder_fd, TEMPLATE_DISK,
				     O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char have[DIGEST_HEX];

	if (disk < 0)
		return error_set(err, errno, TEMPLATE_DISK);
	if (digest_sparse_fd(disk, have, err) < 0)
		return error_prefix(err, TEMPLATE_DISK);
	if (want && !strcmp(want, have))
		return 0;
	return error_say(err, EBADMSG,
			 TEMPLATE_DISK
			 " was changed after it was made (`bawn "
			 "template rm`, then `bawn template pull`)");
}

static int check_place(int folder_fd, json_t *root, const struct stat *st,
		       struct error *err)
{
	struct error unsaved = { 0 };

	if (json_integer_value(json_object_get(root, "disk_bytes")) ==
		    st->st_size &&
	    (ino_t)json_integer_value(json_object_get(root, "disk_inode")) ==
		    st->st_ino &&
	    json_integer_value(json_object_get(root, "disk_mtime_ns")) ==
		    mtime_ns(st))
		return 0;
	if (compare_content(folder_fd, root, err) < 0)
		return -1;
	/* a user cannot write in root's folder: root's next command does */
	note_place(root, st);
	if (save(folder_fd, root, &unsaved) < 0)
		log_debug("%s", unsaved.text);
	return 0;
}

int template_manifest_load(int folder_fd, struct template *template,
			   struct error *err)
{
	AUTO(json) json_t *root = load(folder_fd, err);
	struct stat st;

	if (!root)
		return -1;
	if (fstatat(folder_fd, TEMPLATE_DISK, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, TEMPLATE_DISK);
	/* Whoever can write a root disk decides what runs on it. */
	if (!S_ISREG(st.st_mode) ||
	    (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, EPERM,
				 TEMPLATE_DISK " belongs to another user");
	if (check_place(folder_fd, root, &st, err) < 0)
		return -1;
	template->size_bytes = (uint64_t)st.st_size;
	template->used_bytes = (uint64_t)st.st_blocks * 512;
	template->id = xstrdup(json_string_value(json_object_get(root, "id")));
	template->source =
		xstrdup(json_string_value(json_object_get(root, "source")));
	template->created =
		json_integer_value(json_object_get(root, "created"));
	return 0;
}

int template_manifest_verify(int folder_fd, struct error *err)
{
	AUTO(json) json_t *root = load(folder_fd, err);

	return root ? compare_content(folder_fd, root, err) : -1;
}
