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
#include <time.h>
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
/* In the folder of a kernel with a flaw: no better one could be had then. */
#define IN_VAIN "in-vain"
#define IN_VAIN_SECONDS (24L * 60 * 60)

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

static bool may_serve(int store_fd, const struct kernel *kernel)
{
	AUTO_FREE char *tried = xasprintf("%s/" IN_VAIN, kernel->key);
	struct stat st;

	return !kernel->flaw ||
	       (fstatat(store_fd, tried, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		time(NULL) < st.st_mtim.tv_sec + IN_VAIN_SECONDS);
}

/* As find(), but what had better be replaced is as good as missing. */
static int find_good(int store_fd, const char *forced, struct kernel *kernel,
		     struct error *err)
{
	if (find(store_fd, forced, kernel, err) < 0)
		return -1;
	if (may_serve(store_fd, kernel))
		return 0;
	(void)error_say(err, ENOENT, "%s %s, so another is needed",
			kernel->release, kernel->flaw);
	kernel_release(kernel);
	return -1;
}

int kernel_find(struct kernel *kernel, struct error *err)
{
	AUTO_CLOSE int store_fd = -1;
	const char *forced;

	if (check_forced(&forced, err) < 0)
		return -1;
	store_fd = paths_open(PATHS_CACHE, "kernels", err);
	if (store_fd < 0 || find_good(store_fd, forced, kernel, err) < 0)
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
		     const char *have, const struct progress *progress,
		     struct error *err)
{
	AUTO_FREE char *name = xasprintf("current-%s", source->name);
	AUTO_FREE char *key = NULL;
	AUTO_CLOSE int temp_fd = open_temp(store_fd, err);
	struct kernel_place place = { temp_fd, have, progress };
	struct kernel_raw raw = { 0 };
	int result;

	if (temp_fd < 0)
		return -1;
	result = source->get(&place, &raw, err);
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

/*
 * have is the release of one that is there but has a flaw, or NULL. It is as
 * good as what the sources after its own would give.
 */
static int make(int store_fd, const char *forced, const char *have,
		const struct progress *progress, struct error *err)
{
	struct error why = { 0 };
	char all[400] = "";

	for (size_t i = 0; kernel_sources[i].name; i++) {
		size_t used = strlen(all);

		if (!is_wanted(&kernel_sources[i], forced))
			continue;
		if (make_from(store_fd, &kernel_sources[i], have, progress,
			      &why) == 0)
			return 0;
		log_debug("kernel from %s: %s", kernel_sources[i].name,
			  why.text);
		(void)text_format(all + used, sizeof(all) - used, "%s%s",
				  used ? "; and " : "", why.text);
		if (have)
			break;
	}
	return error_set(err, 0, "no guest kernel: %s", all);
}

/* Where there is none without a flaw, one with it is better than none. */
static int renew(int store_fd, const char *forced,
		 const struct progress *progress, struct kernel *kernel,
		 struct error *err)
{
	AUTO_FREE char *tried = NULL;
	struct kernel old, found;
	int made;

	(void)find(store_fd, forced, &old, NULL);
	made = make(store_fd, forced, old.release, progress, err);
	if (made < 0 && !old.release)
		return -1;
	kernel_release(&old);
	if (find(store_fd, forced, &found, err) < 0)
		return -1;
	*kernel = found;
	if (!found.flaw)
		return 0;
	log_warn("the guest kernel %s %s, and no other can be had now; bawn "
		 "looks again tomorrow",
		 found.release, found.flaw);
	tried = xasprintf("%s/" IN_VAIN, found.key);
	(void)fileio_replace(store_fd, tried, "", 0, 0600, 0, NULL);
	return 0;
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
	if (find_good(store_fd, forced, kernel, &found) < 0 &&
	    renew(store_fd, forced, progress, kernel, err) < 0)
		return -1;
	if (add_initramfs(kernel, err) == 0)
		return 0;
	kernel_release(kernel);
	return -1;
}
