/* SPDX-License-Identifier: Apache-2.0 */
/*
 * initramfs.c - bawn-init and the modules, as one archive
 */
#include "provision/initramfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/cpio.h"
#include "state/digest.h"
#include "state/paths.h"

#define FORMAT "3" /* part of the key: changes with the layout */
#define INIT_MAX (32u << 20)
#define MODULE_MAX (32u << 20)
#define ROOTS_MAX (4u << 20)
#define ORDER_MAX (64u << 10)
#define ARCHIVE_MAX (256u << 20)
#define KEY_DIGITS 16

static int read_init(struct buffer *init, struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-init", err);

	return path ? fileio_read(AT_FDCWD, path, init, err) : -1;
}

/* Whom this host trusts, for templates that say nothing about it. */
static void read_roots(struct buffer *roots)
{
	/* Debian and others; Fedora; SUSE; Alpine */
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files) && !roots->len; i++) {
		AUTO_CLOSE int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		struct error unused;

		if (fd >= 0 && fileio_read_fd(fd, roots, &unused) < 0)
			buffer_consume(roots, roots->len);
	}
}

static char *key_of(const char *kernel_key, const struct buffer *init,
		    const struct buffer *roots)
{
	AUTO_FREE char *facts = NULL;
	char hex[DIGEST_HEX], trusted[DIGEST_HEX];

	digest_bytes(init->data, init->len, hex);
	digest_bytes(roots->data, roots->len, trusted);
	facts = xasprintf("%s %s %s %s", FORMAT, kernel_key, hex, trusted);
	digest_bytes(facts, strlen(facts), hex);
	return xstrndup(hex, KEY_DIGITS);
}

static int add_frame(struct cpio *cpio, const struct buffer *init,
		     const struct buffer *order, const struct buffer *roots,
		     struct error *err)
{
	const struct cpio_entry entries[] = {
		{ .name = "dev", .mode = S_IFDIR | 0755 },
		{ .name = "proc", .mode = S_IFDIR | 0755 },
		{ .name = "sys", .mode = S_IFDIR | 0755 },
		{ .name = "newroot", .mode = S_IFDIR | 0755 },
		{ .name = "modules", .mode = S_IFDIR | 0755 },
		{ .name = "dev/console",
		  .mode = S_IFCHR | 0600,
		  .device_major = 5,
		  .device_minor = 1 },
		{ .name = "init",
		  .mode = S_IFREG | 0755,
		  .content = init->data,
		  .len = init->len },
		{ .name = "modules.order",
		  .mode = S_IFREG | 0644,
		  .content = order->data,
		  .len = order->len },
		{ .name = "ca-certificates.crt",
		  .mode = S_IFREG | 0644,
		  .content = roots->data,
		  .len = roots->len },
	};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (cpio_add(cpio, &entries[i], err) < 0)
			return -1;
	return 0;
}

static int add_module(struct cpio *cpio, int folder_fd, const char *name,
		      struct error *err)
{
	AUTO_BUFFER struct buffer module = BUFFER_INIT(MODULE_MAX);
	AUTO_FREE char *path = xasprintf("modules/%s", name);
	struct cpio_entry entry = { .name = path, .mode = S_IFREG | 0644 };

	if (strchr(name, '/'))
		return error_set(err, 0, "modules.order: bad name");
	if (fileio_read(folder_fd, path, &module, err) < 0)
		return -1;
	entry.content = module.data;
	entry.len = module.len;
	return cpio_add(cpio, &entry, err);
}

static int add_modules(struct cpio *cpio, int folder_fd, const char *order,
		       struct error *err)
{
	while (*order) {
		size_t len = strcspn(order, "\n");
		AUTO_FREE char *name = xstrndup(order, len);

		if (len && name[0] != '[' &&
		    add_module(cpio, folder_fd, name, err) < 0)
			return -1;
		order += len + (order[len] == '\n');
	}
	return 0;
}

static int make(const char *folder, const struct buffer *init,
		const struct buffer *roots, int cache_fd, const char *name,
		struct error *err)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(ARCHIVE_MAX);
	AUTO_BUFFER struct buffer order = BUFFER_INIT(ORDER_MAX);
	AUTO_CLOSE int folder_fd =
		open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cpio cpio;

	if (folder_fd < 0)
		return error_set(err, errno, "%s", folder);
	if (fileio_read(folder_fd, "modules.order", &order, err) < 0)
		return -1;
	cpio_init(&cpio, &archive);
	if (add_frame(&cpio, init, &order, roots, err) < 0 ||
	    add_modules(&cpio, folder_fd, buffer_str(&order), err) < 0 ||
	    cpio_finish(&cpio, err) < 0)
		return -1;
	return fileio_replace(cache_fd, name, archive.data, archive.len, 0444,
			      FILEIO_SYNC, err);
}

int initramfs_ensure(const char *folder, const char *kernel_key, char **path,
		     char **key, struct error *err)
{
	AUTO_BUFFER struct buffer init = BUFFER_INIT(INIT_MAX);
	AUTO_BUFFER struct buffer roots = BUFFER_INIT(ROOTS_MAX);
	AUTO_CLOSE int cache_fd = -1;
	AUTO_FREE char *own_key = NULL, *name = NULL, *sub = NULL;
	struct stat st;

	if (read_init(&init, err) < 0)
		return error_prefix(err, "initramfs");
	read_roots(&roots);
	own_key = key_of(kernel_key, &init, &roots);
	name = xasprintf("%s.cpio", own_key);
	cache_fd = paths_open(PATHS_CACHE, "initramfs", err);
	if (cache_fd < 0)
		return -1;
	if (fstatat(cache_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    make(folder, &init, &roots, cache_fd, name, err) < 0)
		return error_prefix(err, "initramfs");
	sub = xasprintf("initramfs/%s", name);
	*path = paths_of(PATHS_CACHE, sub, err);
	if (!*path)
		return -1;
	*key = TAKE_PTR(own_key);
	return 0;
}
