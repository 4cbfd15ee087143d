/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm_store.c - warm.json: what belongs to an image, and what nobody needs
 */
#include "provision/warm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "provision/kernel.h"
#include "provision/machine.h"
#include "provision/records.h"
#include "provision/template.h"
#include "provision/warm_internal.h"
#include "state/digest.h"
#include "state/paths.h"
#include "state/sandbox_record.h"

static const char *const files[] = { WARM_RAM, WARM_STATE, WARM_DISK };

/* Size, inode and times: a file that was touched is not loaded. */
static json_t *describe(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return NULL;
	return json_pack("{s:I, s:I, s:I, s:I}", "bytes",
			 (json_int_t)st.st_size, "inode", (json_int_t)st.st_ino,
			 "mtime", (json_int_t)st.st_mtim.tv_sec, "mtime_ns",
			 (json_int_t)st.st_mtim.tv_nsec);
}

static int digest_of(int folder, const char *name, char hex[DIGEST_HEX],
		     struct error *err)
{
	AUTO_CLOSE int fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "%s", name);
	return digest_sparse_fd(fd, hex, err);
}

int warm_manifest_save(int folder, const struct warm_parts *parts,
		       const char *marker, struct error *err)
{
	AUTO_FREE char *text = NULL;
	json_t *root = json_pack(
		"{s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, "
		"s:I}",
		"version", WARM_VERSION, "machine_version",
		START_MACHINE_VERSION, "marker", marker, "machine",
		parts->machine, "cpu", parts->cpu, "qemu", parts->qemu,
		"template", parts->template_name, "template_id",
		parts->template_id, "kernel", parts->kernel, "initramfs",
		parts->initramfs, "cpus", (json_int_t)parts->cpus, "memory_mib",
		(json_int_t)parts->memory_mib, "disk_bytes",
		(json_int_t)parts->disk_bytes);
	json_t *list = json_object(), *digests = json_object();
	int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !failed; i++) {
		char hex[DIGEST_HEX] = "";

		failed = digest_of(folder, files[i], hex, err);
		json_object_set_new(list, files[i], describe(folder, files[i]));
		json_object_set_new(digests, files[i], json_string(hex));
	}
	json_object_set_new(root, "files", list);
	json_object_set_new(root, "digests", digests);
	text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (failed)
		return -1;
	if (!text)
		return error_set(err, ENOMEM, WARM_MANIFEST);
	return fileio_replace(folder, WARM_MANIFEST, text, strlen(text), 0600,
			      FILEIO_SYNC, err);
}

static bool files_fit(int folder, json_t *root)
{
	json_t *list = json_object_get(root, "files");

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		json_t *now = describe(folder, files[i]);
		bool same =
			now && json_equal(now, json_object_get(list, files[i]));

		json_decref(now);
		if (!same)
			return false;
	}
	return true;
}

static json_t *load_manifest(int folder, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(65536);
	json_t *root;

	if (fileio_read(folder, WARM_MANIFEST, &text, err) < 0) {
		if (err)
			err->code = EBADMSG;
		return NULL;
	}
	root = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, NULL);
	if (!root)
		error_set(err, EBADMSG, WARM_MANIFEST);
	return root;
}

static void fill(struct warm *warm, const char *key, const char *path,
		 json_t *root)
{
	const char *marker = "", *machine = "", *cpu = "";

	json_unpack(root, "{s:s, s:s, s:s}", "marker", &marker, "machine",
		    &machine, "cpu", &cpu);
	*warm = (struct warm){
		.key = xstrdup(key),
		.folder = xstrdup(path),
		.ram = xasprintf("%s/" WARM_RAM, path),
		.device_state = xasprintf("%s/" WARM_STATE, path),
		.disk = xasprintf("%s/" WARM_DISK, path),
		.marker = xstrdup(marker),
		.machine = xstrdup(machine),
		.cpu = xstrdup(cpu),
	};
}

int warm_find(const char *key, struct warm *warm, struct error *err)
{
	AUTO_FREE char *sub = xasprintf("warm/%s", key);
	AUTO_FREE char *path = paths_of(PATHS_DATA, sub, err);
	AUTO_CLOSE int folder = -1;
	json_t *root;

	*warm = (struct warm){ 0 };
	if (!path)
		return -1;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return error_set(err, errno, "warm image %s", key);
	root = load_manifest(folder, err);
	if (!root)
		return error_prefix(err, "warm image %s", key);
	if (!files_fit(folder, root)) {
		json_decref(root);
		return error_set(err, EBADMSG, "warm image %s was changed",
				 key);
	}
	fill(warm, key, path, root);
	json_decref(root);
	return 0;
}

static int verify_files(int folder, const char *key, const json_t *root,
			struct error *err)
{
	json_t *digests = json_object_get(root, "digests");

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *want =
			json_string_value(json_object_get(digests, files[i]));
		char have[DIGEST_HEX];

		if (digest_of(folder, files[i], have, err) < 0)
			return error_prefix(err, "warm image %s", key);
		if (!want || strcmp(want, have))
			return error_set(err, EBADMSG, "warm image %s: %s", key,
					 files[i]);
	}
	return 0;
}

int warm_verify(const char *key, struct error *err)
{
	AUTO_FREE char *sub = xasprintf("warm/%s", key);
	AUTO_FREE char *path = paths_of(PATHS_DATA, sub, err);
	AUTO_CLOSE int folder = -1;
	json_t *root;
	int result;

	if (!path)
		return -1;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return error_set(err, errno, "warm image %s", key);
	root = load_manifest(folder, err);
	result = root ? verify_files(folder, key, root, err)
		      : error_prefix(err, "warm image %s", key);
	json_decref(root);
	return result;
}

int warm_each(void (*each)(void *ctx, const char *key), void *ctx,
	      struct error *err)
{
	AUTO_CLOSE int fd = paths_open(PATHS_DATA, "warm", err);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd < 0)
		return -1;
	if (!folder)
		return error_set(err, errno, "warm images");
	(void)TAKE_FD(fd);
	/* .lock-* and .tmp-* belong to who holds the lock. */
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			each(ctx, entry->d_name);
	closedir(folder);
	return 0;
}

struct search {
	const char *name;
	bool found;
};

static void compare(void *ctx, const struct sandbox_record *record, int folder)
{
	struct search *search = ctx;

	if (!record ||
	    (record->warm_key && strcmp(record->warm_key, search->name) == 0))
		search->found = true;
}

bool warm_is_used(const char *name)
{
	struct search search = { .name = name };

	/* When in doubt it is. */
	if (records_each(compare, &search, NULL) < 0)
		return true;
	return search.found;
}

/* What a start would use today. */
struct today {
	struct machine machine;
	struct kernel kernel;
	bool has_machine, has_kernel;
	bool all;   /* the next start may make its own again */
	int parent; /* of the images; borrowed */
	warm_unused_fn *each;
	void *ctx;
};

static bool same(json_t *root, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(root, key));

	return text && value && strcmp(text, value) == 0;
}

static bool would_be_used(int folder, const struct today *today)
{
	json_t *root = load_manifest(folder, NULL);
	struct template template = { 0 };
	const char *name = "", *id = "";
	int version = 0;
	bool used;

	json_unpack(root, "{s:s, s:s, s:i}", "template", &name, "template_id",
		    &id, "machine_version", &version);
	used = root && version == START_MACHINE_VERSION &&
	       files_fit(folder, root);
	if (used && today->has_machine)
		used = same(root, "qemu", today->machine.identity);
	if (used && today->has_kernel)
		used = same(root, "kernel", today->kernel.key) &&
		       same(root, "initramfs", today->kernel.initramfs_key);
	used = used && template_find_content(name, id, &template, NULL) == 0;
	template_release(&template);
	json_decref(root);
	return used;
}

static uint64_t bytes_of(int folder)
{
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (fstatat(folder, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			sum += (uint64_t)st.st_blocks * 512;
	}
	return sum;
}

static void consider(void *ctx, const char *name)
{
	struct today *today = ctx;
	AUTO_CLOSE int folder =
		openat(today->parent, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder >= 0 && (today->all || !would_be_used(folder, today)) &&
	    !warm_is_used(name))
		today->each(today->ctx, name, bytes_of(folder));
}

static int each_unused(bool all, warm_unused_fn *each, void *ctx,
		       struct error *err)
{
	AUTO_CLOSE int parent = paths_open(PATHS_DATA, "warm", err);
	struct today today = {
		.all = all, .parent = parent, .each = each, .ctx = ctx
	};
	int result;

	if (parent < 0)
		return -1;
	today.has_machine = machine_find(&today.machine, NULL) == 0;
	today.has_kernel = kernel_find(&today.kernel, NULL) == 0;
	result = warm_each(consider, &today, err);
	if (today.has_machine)
		machine_release(&today.machine);
	if (today.has_kernel)
		kernel_release(&today.kernel);
	return result;
}

int warm_each_unused(warm_unused_fn *each, void *ctx, struct error *err)
{
	return each_unused(false, each, ctx, err);
}

static void remove_unused(void *ctx, const char *name, uint64_t bytes)
{
	AUTO_CLOSE int parent = paths_open(PATHS_DATA, "warm", NULL);
	uint64_t *freed = ctx;

	if (parent >= 0 && fileio_remove_tree(parent, name, NULL) == 0)
		*freed += bytes;
}

static int remove_each(bool all, uint64_t *freed_bytes, struct error *err)
{
	uint64_t unasked;

	if (!freed_bytes)
		freed_bytes = &unasked;
	*freed_bytes = 0;
	return each_unused(all, remove_unused, freed_bytes, err);
}

int warm_prune(uint64_t *freed_bytes, struct error *err)
{
	return remove_each(false, freed_bytes, err);
}

int warm_reset(uint64_t *freed_bytes, struct error *err)
{
	return remove_each(true, freed_bytes, err);
}
