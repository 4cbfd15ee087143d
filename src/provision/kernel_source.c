/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_source.c - where a guest kernel can come from: Debian's package for
 * virtual machines, or the kernel that the host itself runs
 */
#include "provision/kernel_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/debian_package.h"
#include "provision/kernel_flaw.h"

#if defined(__x86_64__)
#define FLAVOUR "cloud-amd64"
#elif defined(__aarch64__)
#define FLAVOUR "cloud-arm64"
#else
#error "no guest kernel is known for this architecture"
#endif
#define PACKAGE_PREFIX "linux-image-"
#define META_PACKAGE PACKAGE_PREFIX FLAVOUR
#define LIST_BYTES_MAX (1u << 20)

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

/* As kernel_flaw_avoid(); where apt cannot say, newest serves. */
static const char *choose(const char *newest, char *package, size_t size)
{
	AUTO_BUFFER struct buffer known = BUFFER_INIT(LIST_BYTES_MAX);
	size_t series = sizeof(PACKAGE_PREFIX) - 1;
	AUTO_FREE char *prefix = NULL;
	struct error err = { 0 };

	/* "linux-image-6.1." */
	for (int dots = 0; dots < 2 && newest[series]; series++)
		dots += newest[series] == '.';
	prefix = xasprintf("%.*s", (int)series, newest);
	if (debian_package_list(prefix, "-" FLAVOUR, &known, &err) == 0 &&
	    buffer_str(&known))
		return kernel_flaw_avoid(buffer_str(&known), newest, package,
					 size);
	log_debug("%s: %s", newest, err.text);
	text_copy(package, size, newest);
	return NULL;
}

/* why follows the package's name in what is said. */
static int fetch_debian(const struct kernel_place *place, const char *package,
			const char *why, struct kernel_raw *raw,
			struct error *err)
{
	const char *release = package + sizeof(PACKAGE_PREFIX) - 1;
	char version[64], folder[PATH_MAX], step[200];
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *root = NULL;

	if (place->have && strcmp(place->have, release) == 0)
		return error_set(err, EEXIST, "%s is there", release);
	text_format(step, sizeof(step), "fetching the guest kernel (%s%s)",
		    package, why);
	progress_step(place->progress, step);
	if (mkdirat(place->folder_fd, release, 0700) < 0)
		return error_set(err, errno, "%s", release);
	fd = openat(place->folder_fd, release,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "%s", release);
	if (debian_package_fetch(package, fd, place->progress, version,
				 sizeof(version), err) < 0 ||
	    path_of(fd, folder, sizeof(folder), err) < 0)
		return -1;
	root = xasprintf("%s/root", folder);
	raw->release = xstrdup(release);
	raw->vmlinuz = xasprintf("%s/boot/vmlinuz-%s", root, raw->release);
	raw->modules = modules_in(root, raw->release);
	raw->describe = xasprintf(KERNEL_DEBIAN "%s", version);
	return 0;
}

static int get_debian(const struct kernel_place *place, struct kernel_raw *raw,
		      struct error *err)
{
	char newest[128], package[128], why[128] = "";
	const char *flaw, *release = newest + sizeof(PACKAGE_PREFIX) - 1;

	if (debian_package_resolve(META_PACKAGE, PACKAGE_PREFIX, newest,
				   sizeof(newest), err) < 0)
		return -1;
	flaw = choose(newest, package, sizeof(package));
	if (strcmp(package, newest) != 0) {
		text_format(why, sizeof(why), "; %.*s %s",
			    (int)(strlen(release) - strlen("-" FLAVOUR)),
			    release, flaw);
		if (fetch_debian(place, package, why, raw, err) == 0)
			return 0;
		log_debug("%s: %s", package, err->text);
	}
	return fetch_debian(place, newest, "", raw, err);
}

static int get_host(const struct kernel_place *place, struct kernel_raw *raw,
		    struct error *err)
{
	struct utsname host;

	if (uname(&host) < 0)
		return error_set(err, errno, "uname");
	progress_step(place->progress,
		      "taking the host's kernel for the guest");
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
