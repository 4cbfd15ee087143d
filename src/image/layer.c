/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - a tar archive, entry by entry, into an ext4 image
 *
 * libarchive reads the tar dialects (ustar, pax, GNU, sparse) and nothing
 * else; every other format stays switched off.
 */
#include "image/layer.h"

#include <errno.h>
#include <locale.h>
#include <sys/stat.h>
#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/ext4_writer.h"
#include "image/layer_acl.h"
#include "image/tar_stream.h"
#include "image/whiteout.h"
#include "tar/tar_path.h"

#define XATTRS_MAX 64
#define PROGRESS_STEP (16ull << 20)

struct layer {
	struct archive *archive;
	struct tar_stream *stream;
	struct ext4_writer *writer;
	enum layer_kind kind;
	struct error *err;
	uint64_t entries, shown;
	layer_progress_fn *progress;
	void *progress_ctx;
	bool stream_failed;
	char path[TAR_PATH_MAX];
	/* attributes of the current entry */
	struct ext4_xattr xattrs[XATTRS_MAX];
	size_t xattr_count;
	struct layer_acl acl_access, acl_default;
};

static la_ssize_t on_read(struct archive *archive, void *ctx,
			  const void **bytes)
{
	struct layer *layer = ctx;
	int64_t got = tar_stream_next(layer->stream, bytes, layer->err);
	uint64_t total = tar_stream_bytes(layer->stream);

	if (got < 0) {
		layer->stream_failed = true;
		archive_set_error(archive, EIO, "%s", layer->err->text);
		return -1;
	}
	if (layer->progress && total - layer->shown >= PROGRESS_STEP) {
		layer->shown = total;
		layer->progress(layer->progress_ctx, total, layer->entries);
	}
	return (la_ssize_t)got;
}

/* err was set by the stream already, or comes from libarchive. */
static int archive_failed(struct layer *layer, const char *what)
{
	const char *text = archive_error_string(layer->archive);
	char shown[200];

	if (layer->stream_failed)
		return -1;
	text = text ? text : "unknown error";
	text_printable(text, strlen(text), shown, sizeof(shown));
	return error_set(layer->err, 0, "%s: %s", what, shown);
}

static int add_xattr(struct layer *layer, const char *name, const void *value,
		     size_t len)
{
	if (layer->xattr_count == XATTRS_MAX)
		return error_set(layer->err, 0,
				 "it has more than %d attributes", XATTRS_MAX);
	layer->xattrs[layer->xattr_count++] =
		(struct ext4_xattr){ name, value, len };
	return 0;
}

static int collect_xattrs(struct layer *layer, struct archive_entry *entry)
{
	const char *name;
	const void *value;
	size_t len;

	layer->xattr_count = 0;
	archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &name, &value, &len) ==
	       ARCHIVE_OK)
		if (name && add_xattr(layer, name, value, len) < 0)
			return -1;
	if (layer_acl_encode(entry, LAYER_ACL_ACCESS, &layer->acl_access,
			     layer->err) < 0 ||
	    layer_acl_encode(entry, LAYER_ACL_DEFAULT, &layer->acl_default,
			     layer->err) < 0)
		return -1;
	if (layer->acl_access.len &&
	    add_xattr(layer, "system.posix_acl_access", layer->acl_access.bytes,
		      layer->acl_access.len) < 0)
		return -1;
	if (layer->acl_default.len && S_ISDIR(archive_entry_mode(entry)) &&
	    add_xattr(layer, "system.posix_acl_default",
		      layer->acl_default.bytes, layer->acl_default.len) < 0)
		return -1;
	return 0;
}

static int fill_attr(struct archive_entry *from, struct ext4_attr *attr,
		     struct error *err)
{
	la_int64_t uid = archive_entry_uid(from), gid = archive_entry_gid(from);
	struct timespec mtime = { archive_entry_mtime(from),
				  archive_entry_mtime_nsec(from) };

	/* The last id means "no change" to chown(2). */
	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return error_set(err, 0, "its owner is out of range");
	attr->mode = archive_entry_mode(from);
	/* whatever the archive says: nothing else can be on a disk of Linux */
	if (S_ISLNK(attr->mode))
		attr->mode = S_IFLNK | 0777;
	attr->uid = (uint32_t)uid;
	attr->gid = (uint32_t)gid;
	attr->mtime = attr->atime = attr->ctime = mtime;
	if (archive_entry_atime_is_set(from))
		attr->atime =
			(struct timespec){ archive_entry_atime(from),
					   archive_entry_atime_nsec(from) };
	if (archive_entry_ctime_is_set(from))
		attr->ctime =
			(struct timespec){ archive_entry_ctime(from),
					   archive_entry_ctime_nsec(from) };
	if (S_ISCHR(attr->mode) || S_ISBLK(attr->mode)) {
		attr->device_major = (uint32_t)archive_entry_rdevmajor(from);
		attr->device_minor = (uint32_t)archive_entry_rdevminor(from);
		if (attr->device_major > 0xfff || attr->device_minor > 0xfffff)
			return error_set(err, 0,
					 "its device number is out of range");
	}
	return 0;
}

static int copy_data(struct layer *layer, uint64_t size)
{
	uint64_t seen = 0;

	for (;;) {
		const void *bytes;
		size_t len = 0;
		la_int64_t offset = 0;
		int code = archive_read_data_block(layer->archive, &bytes, &len,
						   &offset);

		if (code == ARCHIVE_EOF)
			return 0;
		if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
			return archive_failed(layer, "its data");
		if (offset < 0 || (uint64_t)offset < seen ||
		    (uint64_t)offset > size || len > size - (uint64_t)offset)
			return error_set(layer->err, 0,
					 "its data lies outside its size");
		seen = (uint64_t)offset + len;
		if (len &&
		    ext4_writer_file_data(layer->writer, (uint64_t)offset,
					  bytes, len, layer->err) < 0)
			return -1;
	}
}

static int put_file(struct layer *layer, struct archive_entry *from,
		    const struct ext4_entry *entry)
{
	la_int64_t size = archive_entry_size(from);
	enum ext4_layout layout =
		archive_entry_sparse_count(from) > 0 ? EXT4_SPARSE : EXT4_DENSE;

	if (size < 0)
		return error_set(layer->err, 0, "its size is negative");
	if (ext4_writer_file_begin(layer->writer, entry, (uint64_t)size, layout,
				   layer->err) < 0 ||
	    copy_data(layer, (uint64_t)size) < 0)
		return -1;
	return ext4_writer_file_end(layer->writer, layer->err);
}

/* Some tools write "/usr/bin" into their layers; it means the same. */
static int take_path(const struct layer *layer, const char *name,
		     char path[TAR_PATH_MAX])
{
	if (layer->kind == LAYER_OF_MANY && name[0] == '/') {
		name += strspn(name, "/");
		if (!*name)
			name = "./";
	}
	return tar_path_normalise(name, strlen(name), path, layer->err);
}

static int put_hard_link(struct layer *layer, const char *target)
{
	char inside[TAR_PATH_MAX];

	if (take_path(layer, target, inside) < 0)
		return error_prefix(layer->err, "the target of its hard link");
	return ext4_writer_link(layer->writer, layer->path, inside, layer->err);
}

/* 1 when the entry was no entry but said what is gone. */
static int take_whiteout(struct layer *layer)
{
	enum whiteout_kind kind;
	char gone[TAR_PATH_MAX];

	if (layer->kind != LAYER_OF_MANY)
		return 0;
	if (whiteout_parse(layer->path, &kind, gone, layer->err) < 0)
		return -1;
	switch (kind) {
	case WHITEOUT_NONE:
		return 0;
	case WHITEOUT_IGNORED:
		return 1;
	case WHITEOUT_NAME:
		return ext4_writer_whiteout(layer->writer, gone, layer->err) < 0
			       ? -1
			       : 1;
	case WHITEOUT_OPAQUE:
		return ext4_writer_opaque(layer->writer, layer->path,
					  layer->err) < 0
			       ? -1
			       : 1;
	}
	return 0;
}

static int put_entry(struct layer *layer, struct archive_entry *from)
{
	const char *name = archive_entry_pathname(from);
	const char *hard_link = archive_entry_hardlink(from);
	struct ext4_entry entry = { .path = layer->path,
				    .xattrs = layer->xattrs };
	int gone;

	if (!name)
		return error_set(layer->err, 0, "its name cannot be read");
	if (take_path(layer, name, layer->path) < 0)
		return -1;
	gone = take_whiteout(layer);
	if (gone)
		return gone < 0 ? -1 : 0;
	if (hard_link)
		return put_hard_link(layer, hard_link);
	if (collect_xattrs(layer, from) < 0 ||
	    fill_attr(from, &entry.attr, layer->err) < 0)
		return -1;
	entry.xattr_count = layer->xattr_count;
	entry.target = archive_entry_symlink(from);
	if (S_ISREG(entry.attr.mode))
		return put_file(layer, from, &entry);
	return ext4_writer_add(layer->writer, &entry, layer->err);
}

static int put_all(struct layer *layer)
{
	struct archive_entry *entry;

	for (;;) {
		int code = archive_read_next_header(layer->archive, &entry);
		const char *name;
		char shown[160];

		if (code == ARCHIVE_EOF)
			return 0;
		if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
			return archive_failed(layer, "not a readable tar");
		layer->entries++;
		if (put_entry(layer, entry) == 0)
			continue;
		name = archive_entry_pathname(entry);
		name = name ? name : "?";
		text_printable(name, strlen(name), shown, sizeof(shown));
		return error_prefix(layer->err, "%s", shown);
	}
}

static int drain(struct layer *layer)
{
	const void *bytes;
	int64_t got;

	do
		got = tar_stream_next(layer->stream, &bytes, layer->err);
	while (got > 0);
	return (int)got;
}

static struct archive *reader_new(struct error *err)
{
	struct archive *archive = archive_read_new();

	if (!archive ||
	    archive_read_support_format_tar(archive) != ARCHIVE_OK) {
		archive_read_free(archive);
		error_set(err, 0, "libarchive lacks the tar format");
		return NULL;
	}
	return archive;
}

/* A pax archive with a name that must go through the character set code. */
static ssize_t sample(void *to, size_t max)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t used = 0;

	archive_write_set_format_pax(archive);
	archive_write_open_memory(archive, to, max, &used);
	archive_entry_set_pathname(entry, "\xc3\xa4");
	archive_entry_set_mode(entry, S_IFLNK | 0777);
	archive_entry_set_symlink(entry, "\xc3\xb6");
	archive_entry_xattr_add_entry(entry, "user.a", "b", 1);
	archive_write_header(archive, entry);
	archive_entry_free(entry);
	archive_write_close(archive);
	archive_write_free(archive);
	return (ssize_t)used;
}

int layer_warm_up(struct error *err)
{
	uint8_t bytes[16384];
	struct archive *archive;
	struct archive_entry *entry;
	ssize_t len;

	/* Names are bytes; in the C locale libarchive would lose some. */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return error_set(err, 0, "the locale C.UTF-8 is missing");
	len = sample(bytes, sizeof(bytes));
	archive = reader_new(err);
	if (!archive)
		return -1;
	if (archive_read_open_memory(archive, bytes, (size_t)len) ==
		    ARCHIVE_OK &&
	    archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
		archive_entry_pathname(entry);
		archive_entry_symlink(entry);
	}
	archive_read_free(archive);
	return 0;
}

int layer_unpack(struct tar_stream *stream, enum layer_kind kind,
		 struct ext4_writer *writer, layer_progress_fn *progress,
		 void *ctx, struct error *err)
{
	AUTO_FREE struct layer *layer = xcalloc(1, sizeof(*layer));
	int result;

	layer->stream = stream;
	layer->kind = kind;
	layer->writer = writer;
	if (kind == LAYER_OF_MANY)
		ext4_writer_begin_layer(writer);
	layer->err = err;
	layer->progress = progress;
	layer->progress_ctx = ctx;
	layer->archive = reader_new(err);
	if (!layer->archive)
		return -1;
	if (archive_read_open(layer->archive, layer, NULL, on_read, NULL) !=
	    ARCHIVE_OK)
		result = archive_failed(layer, "not a readable tar");
	else
		result = put_all(layer);
	if (result == 0)
		result = drain(layer);
	archive_read_free(layer->archive);
	return result;
}
