/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package.h - packages fetched by the host's apt, never installed
 *
 * apt checks signatures and checksums against the host's own lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;
struct progress;

/*
 * The first dependency of package whose name starts with prefix: what a
 * meta-package like linux-image-cloud-amd64 stands for today.
 */
int debian_package_resolve(const char *package, const char *prefix, char *name,
			   size_t size, struct error *err);
/* The pure part: text is the output of `apt-cache depends`. */
int debian_package_parse_depends(const char *text, const char *prefix,
				 char *name, size_t size);
struct debian_package {
	char name[128];
	char version[64];
};
/*
 * What apt has of the packages whose names begin and end like this, in all
 * versions: the output of `apt-cache madison`.
 */
int debian_package_list(const char *prefix, const char *suffix,
			struct buffer *out, struct error *err);
/* The pure part: takes the next package off the text; false at its end. */
bool debian_package_next(const char **text, struct debian_package *package);
/*
 * Downloads name and unpacks it to "root" beneath folder_fd, an empty private
 * folder. version receives the package's version.
 */
int debian_package_fetch(const char *name, int folder_fd,
			 const struct progress *progress, char *version,
			 size_t size, struct error *err);
