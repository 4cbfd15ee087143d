/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_java.c - Java programs trust the authority of their sandbox
 *
 * Debian's JDKs, and Temurin's packages, have a link to one file of the system;
 * so have Fedora's. Where that file is, the authority is added to it. Where it
 * is not, a link leads to a list that is made from the bundle, so that a JDK
 * that is shared or unpacked later finds one. No variable is set: a JVM says
 * so on stderr each time it sees one.
 */
#include "guest/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/java_store.h"
#include "guest/trust_internal.h"

#define BUNDLE_MAX (4u * 1024 * 1024)
#define LINK "/etc/ssl/certs/java/cacerts"

static const char *const places[] = { LINK, "/etc/pki/java/cacerts" };

/* Of PID 1; it is in the warm image, so a wake-up need not make it. */
static struct java_store prepared;

static int read_file(const char *root, const char *path, struct buffer *out)
{
	AUTO_CLOSE int fd = trust_open_file(root, path, O_RDONLY);

	return fd < 0 ? -1 : fileio_read_fd(fd, out, NULL);
}

static int write_at(int fd, const struct buffer *bytes, size_t from)
{
	return ftruncate(fd, (off_t)from) < 0 ||
			       fileio_pwrite_all(fd, bytes->data, bytes->len,
						 (off_t)from, NULL) < 0
		       ? -1
		       : 0;
}

/* Without an authority of an earlier start, which is the last of it. */
static size_t own_length(const struct buffer *bundle)
{
	const uint8_t *found =
		bundle->len ? memmem(bundle->data, bundle->len, TRUST_HEADING,
				     strlen(TRUST_HEADING))
			    : NULL;

	return found ? (size_t)(found - bundle->data) : bundle->len;
}

void trust_java_prepare(const char *root)
{
	AUTO_BUFFER struct buffer bundle = BUFFER_INIT(BUNDLE_MAX);
	AUTO_BUFFER struct buffer list = BUFFER_INIT(JAVA_STORE_BYTES_MAX);
	const char *path = trust_find_bundle(root);
	AUTO_CLOSE int fd = -1;

	prepared = (struct java_store){ 0 };
	if (path && read_file(root, path, &bundle) < 0)
		return;
	fd = trust_open_file(root, TRUST_JAVA_FILE, O_RDWR | O_CREAT);
	if (fd < 0 ||
	    java_store_begin(bundle.len ? (const char *)bundle.data : "",
			     own_length(&bundle), &list, &prepared) < 0 ||
	    write_at(fd, &list, 0) < 0) {
		log_debug("no list of authorities for Java");
		prepared = (struct java_store){ 0 };
	}
}

static int finish_list(const char *root, const char *pem)
{
	AUTO_BUFFER struct buffer last = BUFFER_INIT(JAVA_STORE_BYTES_MAX);
	AUTO_CLOSE int fd = -1;

	if (!prepared.len)
		trust_java_prepare(root);
	fd = trust_open_file(root, TRUST_JAVA_FILE, O_RDWR);
	return fd < 0 || !prepared.len ||
			       java_store_end(&prepared, pem, strlen(pem),
					      &last) < 0
		       ? -1
		       : write_at(fd, &last, prepared.len);
}

static bool is_link_of_ours(const char *full)
{
	char target[sizeof(TRUST_JAVA_FILE)];
	ssize_t len = readlink(full, target, sizeof(target));

	return len == (ssize_t)strlen(TRUST_JAVA_FILE) &&
	       memcmp(target, TRUST_JAVA_FILE, (size_t)len) == 0;
}

static void make_link(const char *root)
{
	char full[PATH_MAX], folder[PATH_MAX];

	if (text_format(full, sizeof(full), "%s%s", root, LINK) < 0 ||
	    text_format(folder, sizeof(folder), "%s/etc/ssl/certs/java", root) <
		    0 ||
	    fileio_mkdirs(folder, 0755, NULL) < 0 ||
	    (symlink(TRUST_JAVA_FILE, full) < 0 && errno != EEXIST))
		log_debug("%s could not be made", LINK);
}

/* True: there is a list of the system's own. */
static bool add_to(const char *root, const char *path, const char *pem)
{
	AUTO_BUFFER struct buffer old = BUFFER_INIT(JAVA_STORE_BYTES_MAX);
	AUTO_BUFFER struct buffer list = BUFFER_INIT(JAVA_STORE_BYTES_MAX);
	AUTO_CLOSE int fd = -1;
	char full[PATH_MAX];

	if (text_format(full, sizeof(full), "%s%s", root, path) < 0 ||
	    is_link_of_ours(full))
		return false;
	fd = trust_open_file(root, path, O_RDWR);
	if (fd < 0)
		return false;
	if (fileio_read_fd(fd, &old, NULL) < 0 ||
	    java_store_has(old.data, old.len, pem, strlen(pem)))
		return true;
	if (java_store_add(old.data, old.len, pem, strlen(pem), &list) < 0 ||
	    write_at(fd, &list, 0) < 0)
		log_warn("%s: not a list that can be added to", path);
	return true;
}

void trust_java_install(const char *root, const char *pem)
{
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		any |= add_to(root, places[i], pem);
	/* Also for a JDK that is told where it is. */
	if (finish_list(root, pem) == 0 && !any)
		make_link(root);
}
