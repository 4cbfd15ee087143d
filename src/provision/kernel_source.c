/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_source.c - where a guest kernel can come from: Debian's package for
 * virtual machines, or the kernel that the host itself runs
 */
#include "provision/kernel_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/debian_package.h"

#if defined(__x86_64__)
#define META_PACKAGE "linux-image-cloud-amd64"
#elif defined(__aarch64__)
#define META_PACKAGE "linux-image-cloud-arm64"
#else
#error "no guest kernel is known for this architecture"
#endif
#define PACKAGE_PREFIX "linux-image-"

void kernel_raw_release(struct kernel_raw *raw)
{
	free(raw->vmlinuz);
	free(raw->modules);
	free(raw->release);
	free(raw->describe);
	*raw = (struct kernel_raw){ 0 };
}

static int path_of(int fd, char *path, size_t size, struct error *err)
{
	char link[64];
	ssize_t len;

	text_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, size - 1);
	if (len < 0)
		return error_set(err, errno, "%s", link);
	path[len] = '\0';
	return 0;
}

/* Releases before merged /usr have lib/modules, later ones usr/lib/modules. */
static char *modules_in(const char *root, const char *release)
{
	char *path = xasprintf("%s/usr/lib/modules/%s", root, release);

	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return xasprintf("%s/lib/modules/%s", root, release);
}

static int get_debian(int folder_fd, const struct progress *progress,
		      struct kernel_raw *raw, struct error *err)
{
	char package[128], version[64], folder[PATH_MAX], step[200];
	AUTO_FREE char *root = NULL;

	if (debian_package_resolve(META_PACKAGE, PACKAGE_PREFIX, package,
				   sizeof(package), err) < 0)
		return -1;
	text_format(step, sizeof(step), "fetching the guest kernel (%s)",
		    package);
	progress_step(progress, step);
	if (debian_package_fetch(package, folder_fd, progress, version,
				 sizeof(version), err) < 0 ||
	    path_of(folder_fd, folder, sizeof(folder), err) < 0)
		return -1;
	root = xasprintf("%s/root", folder);
	raw->release = xstrdup(package + sizeof(PACKAGE_PREFIX) - 1);
	raw->vmlinuz = xasprintf("%s/boot/vmlinuz-%s", root, raw->release);
	raw->modules = modules_in(root, raw->release);
	raw->describe = xasprintf("Debian package %s", version);
	return 0;
}

static int get_host(int folder_fd, const struct progress *progress,
		    struct kernel_raw *raw, struct error *err)
{
	struct utsname host;

	if (uname(&host) < 0)
		return error_set(err, errno, "uname");
	progress_step(progress, "taking the host's kernel for the guest");
	raw->release = xstrdup(host.release);
	raw->vmlinuz = xasprintf("/boot/vmlinuz-%s", host.release);
	raw->modules = modules_in("", host.release);
	raw->describe = xasprintf("host %s", raw->vmlinuz);
	if (access(raw->vmlinuz, R_OK) == 0)
		return 0;
	if (errno == EACCES)
		return error_set(err, 0,
				 "%s: Permission denied (run \"sudo chmod +r "
				 "%s\", or let bawn fetch Debian's kernel)",
				 raw->vmlinuz, raw->vmlinuz);
	return error_set(err, errno, "%s", raw->vmlinuz);
}

const struct kernel_source kernel_sources[] = {
	{ "debian", get_debian },
	{ "host", get_host },
	{ NULL, NULL },
};
