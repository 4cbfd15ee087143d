/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_store.c - cache/kernels: what lies there, and how it gets there
 */
#include "provision/kernel_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/kernel.h"
#include "provision/kernel_flaw.h"
#include "provision/kernel_source.h"
#include "provision/module_set.h"
#include "provision/tool.h"
#include "state/digest.h"
#include "state/paths.h"

#define VERSION 2
#define LIST_MAX (64u << 10)
#define JSON_MAX (256u << 10)
#define MODULE_MAX (32u << 20)
#define KEY_DIGITS 12

AUTO_DEFINE(json, json_t *, json_decref)

static int read_list(struct buffer *list, char hex[DIGEST_HEX],
		     struct error *err)
{
	AUTO_FREE char *path = paths_data_file("kernel/modules.list", err);

	if (!path || fileio_read(AT_FDCWD, path, list, err) < 0 ||
	    !buffer_str(list))
		return -1;
	digest_bytes(list->data, list->len, hex);
	return 0;
}

/* ---- making ---- */

/* A module's bytes, unpacked by bawn-image where it is compressed. */
static int read_module(void *ctx, const char *path, void **out, size_t *len,
		       struct error *err)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(MODULE_MAX);
	AUTO_CLOSE int in = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int unpacked = -1;

	if (in < 0)
		return error_set(err, errno, "%s", path);
	if (!text_ends(path, ".ko")) {
		unpacked = memfd_create("module", MFD_CLOEXEC);
		if (unpacked < 0)
			return error_set(err, errno, "memfd_create");
		if (tool_image("unpack", in, unpacked, err) < 0 ||
		    lseek(unpacked, 0, SEEK_SET) < 0)
			return -1;
	}
	if (fileio_read_fd(unpacked >= 0 ? unpacked : in, &bytes, err) < 0)
		return -1;
	*len = bytes.len;
	*out = TAKE_PTR(bytes.data);
	return 0;
}

/* Notes name, digest and what a later start can compare in no time. */
static int note_file(json_t *files, int out_fd, const char *name,
		     struct error *err)
{
	AUTO_CLOSE int fd = openat(out_fd, name, O_RDONLY | O_CLOEXEC);
	char hex[DIGEST_HEX];
	struct stat st;

	if (fd < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", name);
	if (digest_fd(fd, hex, err) < 0)
		return -1;
	json_array_append_new(
		files, json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", name,
				 "sha256", hex, "size", (json_int_t)st.st_size,
				 "inode", (json_int_t)st.st_ino, "mtime_ns",
				 (json_int_t)st.st_mtim.tv_sec * 1000000000 +
					 st.st_mtim.tv_nsec));
	return 0;
}

static int put_vmlinux(int out_fd, const struct kernel_raw *raw, json_t *files,
		       struct error *err)
{
	AUTO_CLOSE int in = open(raw->vmlinuz, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = openat(
		out_fd, "vmlinux", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (in < 0)
		return error_set(err, errno, "%s", raw->vmlinuz);
	if (out < 0)
		return error_set(err, errno, "vmlinux");
	if (tool_image("vmlinux", in, out, err) < 0)
		return error_prefix(err, "%s", raw->vmlinuz);
	return note_file(files, out_fd, "vmlinux", err);
}

static int put_module(int out_fd, const struct module *module,
		      struct buffer *order, json_t *files, struct error *err)
{
	AUTO_FREE char *name = xasprintf("modules/%s.ko", module->name);
	AUTO_FREE void *bytes = NULL;
	size_t len = 0;

	if (read_module(NULL, module->path, &bytes, &len, err) < 0 ||
	    fileio_replace(out_fd, name, bytes, len, 0444, 0, err) < 0)
		return -1;
	if (buffer_printf(order, "%s.ko\n", module->name) < 0)
		return error_set(err, 0, "too many modules");
	return note_file(files, out_fd, name, err);
}

/* Too long a list is noticed with the module that follows. */
static void begin_section(struct buffer *order, const struct module *modules,
			  size_t i)
{
	if (i == 0 || strcmp(modules[i].section, modules[i - 1].section) != 0)
		(void)buffer_printf(order, "[%s]\n", modules[i].section);
}

static int put_modules(int out_fd, const struct kernel_raw *raw,
		       const char *list, json_t *files, struct error *err)
{
	AUTO_BUFFER struct buffer order = BUFFER_INIT(LIST_MAX);
	struct module_set set;
	int result = 0;

	if (mkdirat(out_fd, "modules", 0700) < 0)
		return error_set(err, errno, "modules");
	if (module_set_resolve(&set, list, raw->modules, read_module, NULL,
			       err) < 0)
		return -1;
	for (size_t i = 0; i < set.count && result == 0; i++) {
		begin_section(&order, set.modules, i);
		result =
			put_module(out_fd, &set.modules[i], &order, files, err);
	}
	module_set_release(&set);
	if (result == 0)
		result = fileio_replace(out_fd, "modules.order", order.data,
					order.len, 0444, 0, err);
	return result;
}

static char *key_of(const struct kernel_raw *raw, json_t *files)
{
	AUTO_BUFFER struct buffer facts = BUFFER_INIT(JSON_MAX);
	char hex[DIGEST_HEX];
	json_t *file;
	size_t i;

	json_array_foreach(files, i, file)(void) buffer_printf(
		&facts, "%s %s\n",
		json_string_value(json_object_get(file, "name")),
		json_string_value(json_object_get(file, "sha256")));
	digest_bytes(facts.data, facts.len, hex);
	return xasprintf("%s-%.*s", raw->release, KEY_DIGITS, hex);
}

static int write_manifest(int out_fd, const struct kernel_raw *raw,
			  const char *list_hex, json_t *files,
			  struct error *err)
{
	AUTO(json)
	json_t *root =
		json_pack("{s:i, s:s, s:s, s:s, s:O}", "version", VERSION,
			  "release", raw->release, "source", raw->describe,
			  "modules_list", list_hex, "files", files);
	AUTO_FREE char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;

	if (!text)
		return error_set(err, 0, "kernel.json: cannot be written");
	return fileio_replace(out_fd, "kernel.json", text, strlen(text), 0444,
			      FILEIO_SYNC, err);
}

int kernel_store_add(int store_fd, int temp_fd, const struct kernel_raw *raw,
		     char **key, struct error *err)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(LIST_MAX);
	AUTO(json) json_t *files = json_array();
	AUTO_FREE char *own_key = NULL;
	AUTO_CLOSE int out_fd = -1;
	char hex[DIGEST_HEX];

	if (read_list(&list, hex, err) < 0)
		return -1;
	if (mkdirat(temp_fd, "out", 0700) < 0)
		return error_set(err, errno, "out");
	out_fd = openat(temp_fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out_fd < 0)
		return error_set(err, errno, "out");
	if (put_vmlinux(out_fd, raw, files, err) < 0 ||
	    put_modules(out_fd, raw, buffer_str(&list), files, err) < 0 ||
	    write_manifest(out_fd, raw, hex, files, err) < 0)
		return -1;
	own_key = key_of(raw, files);
	/* What already has this name did not pass, or nobody would be here. */
	if (fileio_remove_tree(store_fd, own_key, err) < 0)
		return -1;
	if (renameat(temp_fd, "out", store_fd, own_key) < 0)
		return error_set(err, errno, "%s", own_key);
	fsync(store_fd);
	*key = TAKE_PTR(own_key);
	return 0;
}

/* ---- finding ---- */

static bool is_unchanged(int folder_fd, json_t *file)
{
	const char *name = json_string_value(json_object_get(file, "name"));
	json_t *size = json_object_get(file, "size");
	json_t *inode = json_object_get(file, "inode");
	json_t *mtime = json_object_get(file, "mtime_ns");
	struct stat st;

	return name &&
	       fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && json_integer_value(size) == st.st_size &&
	       (ino_t)json_integer_value(inode) == st.st_ino &&
	       json_integer_value(mtime) ==
		       (json_int_t)st.st_mtim.tv_sec * 1000000000 +
			       st.st_mtim.tv_nsec;
}

static int check_manifest(int folder_fd, json_t *root, const char *list_hex,
			  struct error *err)
{
	json_t *files = json_object_get(root, "files"), *file;
	const char *made_for =
		json_string_value(json_object_get(root, "modules_list"));
	size_t i;

	if (json_integer_value(json_object_get(root, "version")) != VERSION ||
	    !made_for || strcmp(made_for, list_hex) != 0 ||
	    !json_is_array(files) || json_array_size(files) == 0)
		return error_set(err, ENOENT, "made by another bawn");
	json_array_foreach(files, i, file) if (
		!is_unchanged(folder_fd,
			      file)) return error_set(err, ENOENT,
						      "changed since it was "
						      "made");
	return 0;
}

static char *copy_text(json_t *root, const char *name)
{
	const char *text = json_string_value(json_object_get(root, name));

	return xstrdup(text ? text : "");
}

int kernel_store_load(int store_fd, const char *key, struct kernel *kernel,
		      struct error *err)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(LIST_MAX);
	AUTO_BUFFER struct buffer text = BUFFER_INIT(JSON_MAX);
	AUTO_FREE char *sub = xasprintf("kernels/%s/vmlinux", key);
	AUTO_CLOSE int folder_fd =
		openat(store_fd, key, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(json) json_t *root = NULL;
	char hex[DIGEST_HEX];

	if (folder_fd < 0)
		return error_set(err, errno, "%s", key);
	if (read_list(&list, hex, err) < 0 ||
	    fileio_read(folder_fd, "kernel.json", &text, err) < 0)
		return -1;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (!root)
		return error_set(err, ENOENT, "kernel.json: damaged");
	if (check_manifest(folder_fd, root, hex, err) < 0)
		return -1;
	kernel->vmlinux = paths_of(PATHS_CACHE, sub, err);
	if (!kernel->vmlinux)
		return -1;
	kernel->key = xstrdup(key);
	kernel->release = copy_text(root, "release");
	kernel->source = copy_text(root, "source");
	if (text_starts(kernel->source, KERNEL_DEBIAN))
		kernel->flaw =
			kernel_flaw(kernel->source + sizeof(KERNEL_DEBIAN) - 1);
	return 0;
}
