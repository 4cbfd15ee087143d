/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_add.c - files of an archive into an ext4 image that is there already
 */
#include "image/ext4_add.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <ext2fs/ext2fs.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/tar_stream.h"
#include "tar/tar_read.h"

#define ARCHIVE_BYTES_MAX (4ull << 30)
#define MODE_EXECUTABLE 0755
#define MODE_PLAIN 0644

struct ext4_add {
	ext2_filsys fs;
	/* the archive that is read */
	const struct ext4_add_rule *rules;
	size_t rule_count;
	unsigned taken[EXT4_ADD_RULES_MAX];
	/* the file that is written; NULL: it is not wanted */
	ext2_file_t file;
	ext2_ino_t ino;
};

static int failed(errcode_t code, const char *what, struct error *err)
{
	return error_set(err, 0, "%s: %s", what, error_message(code));
}

struct ext4_add *ext4_add_open(int fd, struct error *err)
{
	struct ext4_add *add = xcalloc(1, sizeof(*add));
	char name[16];
	errcode_t code;

	text_format(name, sizeof(name), "%d", fd);
	initialize_ext2_error_table();
	code = ext2fs_open(name, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
			   unixfd_io_manager, &add->fs);
	if (!code)
		code = ext2fs_read_bitmaps(add->fs);
	if (!code)
		return add;
	failed(code, "the template's disk", err);
	ext4_add_free(add);
	return NULL;
}

void ext4_add_free(struct ext4_add *add)
{
	if (!add)
		return;
	if (add->file)
		ext2fs_file_close(add->file);
	if (add->fs)
		ext2fs_free(add->fs);
	free(add);
}

/* ---- names ---- */

static int make_folder(struct ext4_add *add, ext2_ino_t parent,
		       const char *name, ext2_ino_t *ino, struct error *err)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_mkdir(add->fs, parent, 0, name);

	if (code == EXT2_ET_DIR_NO_SPACE) {
		code = ext2fs_expand_dir(add->fs, parent);
		if (!code)
			code = ext2fs_mkdir(add->fs, parent, 0, name);
	}
	if (!code)
		code = ext2fs_lookup(add->fs, parent, name, (int)strlen(name),
				     NULL, ino);
	if (!code)
		code = ext2fs_read_inode(add->fs, *ino, &inode);
	if (code)
		return failed(code, name, err);
	inode.i_mode = LINUX_S_IFDIR | 0755;
	code = ext2fs_write_inode(add->fs, *ino, &inode);
	return code ? failed(code, name, err) : 0;
}

/* The folder of path, made where it is missing; *last is the last name. */
static int find_folder(struct ext4_add *add, const char *path, ext2_ino_t *ino,
		       const char **last, struct error *err)
{
	const char *slash;
	char name[EXT2_NAME_LEN + 1];

	*ino = EXT2_ROOT_INO;
	for (; (slash = strchr(path, '/')); path = slash + 1) {
		ext2_ino_t next;
		errcode_t code;

		text_format(name, sizeof(name), "%.*s", (int)(slash - path),
			    path);
		code = ext2fs_lookup(add->fs, *ino, name, (int)strlen(name),
				     NULL, &next);
		if (code == EXT2_ET_FILE_NOT_FOUND) {
			if (make_folder(add, *ino, name, &next, err) < 0)
				return -1;
			code = 0;
		}
		/* no link is followed: our rules name real folders */
		if (!code)
			code = ext2fs_check_directory(add->fs, next);
		if (code)
			return failed(code, name, err);
		*ino = next;
	}
	*last = path;
	return 0;
}

static int link_name(struct ext4_add *add, ext2_ino_t folder, const char *name,
		     ext2_ino_t ino, int type, struct error *err)
{
	errcode_t code = ext2fs_link(add->fs, folder, name, ino, type);

	if (code == EXT2_ET_DIR_NO_SPACE) {
		code = ext2fs_expand_dir(add->fs, folder);
		if (!code)
			code = ext2fs_link(add->fs, folder, name, ino, type);
	}
	return code ? failed(code, name, err) : 0;
}

static int check_free(struct ext4_add *add, ext2_ino_t folder, const char *name,
		      struct error *err)
{
	ext2_ino_t ino;
	errcode_t code = ext2fs_lookup(add->fs, folder, name, (int)strlen(name),
				       NULL, &ino);

	if (code == EXT2_ET_FILE_NOT_FOUND)
		return 0;
	return code ? failed(code, name, err)
		    : error_set(err, EEXIST, "%s is there already", name);
}

/* ---- files ---- */

static int new_file(struct ext4_add *add, const char *path, mode_t mode,
		    struct error *err)
{
	struct ext2_inode inode = { .i_mode = (uint16_t)(LINUX_S_IFREG | mode),
				    .i_links_count = 1 };
	uint32_t now = (uint32_t)add->fs->now;
	ext2_ino_t folder;
	const char *name;
	errcode_t code;

	if (find_folder(add, path, &folder, &name, err) < 0 ||
	    check_free(add, folder, name, err) < 0)
		return -1;
	inode.i_atime = inode.i_ctime = inode.i_mtime = now;
	code = ext2fs_new_inode(add->fs, folder, LINUX_S_IFREG, 0, &add->ino);
	if (code)
		return failed(code, name, err);
	if (link_name(add, folder, name, add->ino, EXT2_FT_REG_FILE, err) < 0)
		return -1;
	ext2fs_inode_alloc_stats2(add->fs, add->ino, +1, 0);
	inode.i_flags = EXT4_EXTENTS_FL;
	code = ext2fs_write_new_inode(add->fs, add->ino, &inode);
	if (!code) {
		ext2_extent_handle_t handle;

		/* an empty tree, which the first block needs */
		code = ext2fs_extent_open2(add->fs, add->ino, &inode, &handle);
		if (!code) {
			ext2fs_extent_free(handle);
			code = ext2fs_write_inode(add->fs, add->ino, &inode);
		}
	}
	if (!code)
		code = ext2fs_file_open(add->fs, add->ino, EXT2_FILE_WRITE,
					&add->file);
	return code ? failed(code, name, err) : 0;
}

/* Where an entry goes; false: nobody wants it. */
static bool place_of(struct ext4_add *add, const char *path,
		     char out[TAR_PATH_MAX])
{
	for (size_t i = 0; i < add->rule_count; i++) {
		size_t len = strlen(add->rules[i].from);

		if (strncmp(path, add->rules[i].from, len) != 0 ||
		    (path[len] && path[len] != '/'))
			continue;
		add->taken[i]++;
		return text_format(out, TAR_PATH_MAX, "%s%s", add->rules[i].to,
				   path + len) == 0;
	}
	return false;
}

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct ext4_add *add = ctx;
	char path[TAR_PATH_MAX];

	if (!S_ISREG(entry->mode) || entry->hard_link ||
	    !place_of(add, entry->path, path))
		return 0;
	return new_file(add, path,
			entry->mode & 0111 ? MODE_EXECUTABLE : MODE_PLAIN, err);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	struct ext4_add *add = ctx;

	while (add->file && len > 0) {
		unsigned done = 0;
		unsigned want = len > (1u << 20) ? 1u << 20 : (unsigned)len;
		errcode_t code =
			ext2fs_file_write(add->file, bytes, want, &done);

		if (code || !done)
			return failed(code, "writing", err);
		bytes = (const char *)bytes + done;
		len -= done;
	}
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	struct ext4_add *add = ctx;
	errcode_t code = add->file ? ext2fs_file_close(add->file) : 0;

	add->file = NULL;
	return code ? failed(code, "writing", err) : 0;
}

static int read_all(struct tar_reader *reader, struct tar_stream *stream,
		    struct error *err)
{
	const void *bytes;
	int64_t got;

	while ((got = tar_stream_next(stream, &bytes, err)) > 0)
		if (tar_reader_feed(reader, bytes, (size_t)got, err) < 0)
			return -1;
	return got < 0 ? -1 : tar_reader_finish(reader, err);
}

int ext4_add_archive(struct ext4_add *add, struct tar_stream *stream,
		     const struct ext4_add_rule *rules, size_t count,
		     struct error *err)
{
	const struct tar_limits limits = { .entries = EXT4_ADD_FILES_MAX,
					   .bytes = ARCHIVE_BYTES_MAX };
	const struct tar_events events = {
		.entry = on_entry, .data = on_data, .end = on_end, .ctx = add
	};
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	int result;

	add->rules = rules;
	add->rule_count = count;
	memset(add->taken, 0, sizeof(add->taken));
	result = read_all(reader, stream, err);
	tar_reader_free(reader);
	for (size_t i = 0; i < count && result == 0; i++)
		if (!add->taken[i])
			result = error_set(err, ENOENT, "the archive has no %s",
					   rules[i].from);
	return result;
}

/* ---- links ---- */

static int make_executable(struct ext4_add *add, const char *path,
			   struct error *err)
{
	struct ext2_inode inode;
	ext2_ino_t ino;
	errcode_t code =
		ext2fs_namei(add->fs, EXT2_ROOT_INO, EXT2_ROOT_INO, path, &ino);

	if (!code)
		code = ext2fs_read_inode(add->fs, ino, &inode);
	if (!code) {
		inode.i_mode |= 0111;
		code = ext2fs_write_inode(add->fs, ino, &inode);
	}
	return code ? failed(code, path, err) : 0;
}

int ext4_add_link(struct ext4_add *add, const struct ext4_add_rule *rule,
		  struct error *err)
{
	char target[TAR_PATH_MAX + 1];
	ext2_ino_t folder;
	const char *name;
	errcode_t code;

	text_format(target, sizeof(target), "/%s", rule->from);
	if (make_executable(add, rule->from, err) < 0 ||
	    find_folder(add, rule->to, &folder, &name, err) < 0 ||
	    check_free(add, folder, name, err) < 0)
		return -1;
	code = ext2fs_symlink(add->fs, folder, 0, name, target);
	if (code == EXT2_ET_DIR_NO_SPACE) {
		code = ext2fs_expand_dir(add->fs, folder);
		if (!code)
			code = ext2fs_symlink(add->fs, folder, 0, name, target);
	}
	return code ? failed(code, rule->to, err) : 0;
}

int ext4_add_finish(struct ext4_add *add, struct error *err)
{
	errcode_t code = ext2fs_close_free(&add->fs);

	add->fs = NULL;
	return code ? failed(code, "the template's disk", err) : 0;
}
