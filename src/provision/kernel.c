/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - the guest's kernel and its initramfs
 *
 * cache/kernels/current-SOURCE names the kernel in use of each source, so that
 * a forced source (BAWN_KERNEL_SOURCE=debian or host, for tests and for hosts
 * where one of the two does not work) and a free choice live side by side.
 */
#include "provision/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/initramfs.h"
#include "provision/kernel_source.h"
#include "provision/kernel_store.h"
#include "state/paths.h"

#define KEY_MAX 256
#define TEMP ".making"

void kernel_release(struct kernel *kernel)
{
	free(kernel->key);
	free(kernel->release);
	free(kernel->source);
	free(kernel->vmlinux);
	free(kernel->initramfs);
	free(kernel->initramfs_key);
	*kernel = (struct kernel){ 0 };
}

static int check_forced(const char **forced, struct error *err)
{
	const char *value = getenv("BAWN_KERNEL_SOURCE");

	*forced = value && *value ? value : NULL;
	for (size_t i = 0; *forced && kernel_sources[i].name; i++)
		if (strcmp(kernel_sources[i].name, *forced) == 0)
			return 0;
	if (!*forced)
		return 0;
	return error_set(err, 0, "BAWN_KERNEL_SOURCE must be debian or host");
}

static bool is_wanted(const struct kernel_source *source, const char *forced)
{
	return !forced || strcmp(source->name, forced) == 0;
}

static int add_initramfs(struct kernel *kernel, struct error *err)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): always filled anew */
	AUTO_FREE char *folder = xstrdup(kernel->vmlinux);

	*strrchr(folder, '/') = '\0';
	return initramfs_ensure(folder, kernel->key, &kernel->initramfs,
				&kernel->initramfs_key, err);
}

static int find_of(int store_fd, const struct kernel_source *source,
		   struct kernel *kernel, struct error *err)
{
	AUTO_BUFFER struct buffer key = BUFFER_INIT(KEY_MAX);
	AUTO_FREE char *name = xasprintf("current-%s", source->name);

	if (fileio_read(store_fd, name, &key, err) < 0)
		return -1;
	if (!buffer_str(&key) || strchr(buffer_str(&key), '/') ||
	    buffer_str(&key)[0] == '.')
		return error_set(err, ENOENT, "%s: damaged", name);
	return kernel_store_load(store_fd, buffer_str(&key), kernel, err);
}

/* 0, or -1 with ENOENT when no kernel is there, or another error. */
static int find(int store_fd, const char *forced, struct kernel *kernel,
		struct error *err)
{
	for (size_t i = 0; kernel_sources[i].name; i++) {
		struct kernel found = { 0 };

		if (!is_wanted(&kernel_sources[i], forced))
			continue;
		if (find_of(store_fd, &kernel_sources[i], &found, err) == 0) {
			*kernel = found;
			return 0;
		}
		kernel_release(&found);
	}
	*kernel = (struct kernel){ 0 };
	(void)error_set(err, ENOENT, "the guest kernel is not there yet");
	return -1;
}

int kernel_find(struct kernel *kernel, struct error *err)
{
	AUTO_CLOSE int store_fd = -1;
	const char *forced;

	if (check_forced(&forced, err) < 0)
		return -1;
	store_fd = paths_open(PATHS_CACHE, "kernels", err);
	if (store_fd < 0 || find(store_fd, forced, kernel, err) < 0)
		return -1;
	if (add_initramfs(kernel, err) == 0)
		return 0;
	kernel_release(kernel);
	return -1;
}

static int open_temp(int store_fd, struct error *err)
{
	int fd;

	/* The lock is held: what is there was left by somebody who died. */
	if (fileio_remove_tree(store_fd, TEMP, err) < 0)
		return -1;
	if (mkdirat(store_fd, TEMP, 0700) < 0)
		return error_set(err, errno, "%s", TEMP);
	fd = openat(store_fd, TEMP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "%s", TEMP);
}

static int make_from(int store_fd, const struct kernel_source *source,
		     const struct progress *progress, struct error *err)
{
	AUTO_FREE char *name = xasprintf("current-%s", source->name);
	AUTO_FREE char *key = NULL;
	AUTO_CLOSE int temp_fd = open_temp(store_fd, err);
	struct kernel_raw raw = { 0 };
	int result;

	if (temp_fd < 0)
		return -1;
	result = source->get(temp_fd, progress, &raw, err);
	if (result == 0) {
		progress_step(progress, "unpacking the guest kernel");
		result = kernel_store_add(store_fd, temp_fd, &raw, &key, err);
	}
	kernel_raw_release(&raw);
	progress_done(progress);
	(void)fileio_remove_tree(store_fd, TEMP, NULL);
	if (result < 0 || !key)
		return -1;
	return fileio_replace(store_fd, name, key, strlen(key), 0600,
			      FILEIO_SYNC, err);
}

static int make(int store_fd, const char *forced,
		const struct progress *progress, struct error *err)
{
	struct error why = { 0 };
	char all[400] = "";

	for (size_t i = 0; kernel_sources[i].name; i++) {
		size_t used = strlen(all);

		if (!is_wanted(&kernel_sources[i], forced))
			continue;
		if (make_from(store_fd, &kernel_sources[i], progress, &why) ==
		    0)
			return 0;
		log_debug("kernel from %s: %s", kernel_sources[i].name,
			  why.text);
		(void)text_format(all + used, sizeof(all) - used, "%s%s",
				  used ? "; and " : "", why.text);
	}
	return error_set(err, 0, "no guest kernel: %s", all);
}

int kernel_ensure(const struct progress *progress, struct kernel *kernel,
		  struct error *err)
{
	AUTO_CLOSE int store_fd = -1, lock = -1;
	struct error found = { 0 };
	const char *forced;

	if (kernel_find(kernel, &found) == 0)
		return 0;
	if (check_forced(&forced, err) < 0)
		return -1;
	store_fd = paths_open(PATHS_CACHE, "kernels", err);
	if (store_fd < 0)
		return -1;
	lock = fileio_lock(store_fd, ".lock", FILEIO_LOCK_WAIT, err);
	if (lock < 0)
		return -1;
	/* Somebody may have made it while this one waited. */
	if (find(store_fd, forced, kernel, &found) < 0) {
		if (make(store_fd, forced, progress, err) < 0 ||
		    find(store_fd, forced, kernel, err) < 0)
			return -1;
	}
	if (add_initramfs(kernel, err) == 0)
		return 0;
	kernel_release(kernel);
	return -1;
}
