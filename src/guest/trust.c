/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - programs of the guest trust the authority of their sandbox
 */
#include "guest/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/trust_internal.h"

#define BLOCK_MAX 8192u /* with the heading */

/* Debian and others; Fedora; SUSE; Alpine. Some are links to another. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* From here a bundle is made anew: Debian and Alpine; Fedora. */
static const char *const anchors[] = {
	"/usr/local/share/ca-certificates",
	"/etc/pki/ca-trust/source/anchors",
};

static const struct {
	const char *name;
	bool alone; /* it is added to the program's own list */
} variables[] = {
	{ "SSL_CERT_FILE", false },        /* OpenSSL, Go, Rust */
	{ "CURL_CA_BUNDLE", false },       /* curl without the system's list */
	{ "GIT_SSL_CAINFO", false },       /* git */
	{ "REQUESTS_CA_BUNDLE", false },   /* Python, which brings a list */
	{ "PIP_CERT", false },             /* pip, too */
	{ "CARGO_HTTP_CAINFO", false },    /* cargo */
	{ "NODE_EXTRA_CA_CERTS", true },   /* Node, which brings a list */
	{ "DENO_CERT", true },             /* Deno */
	{ "CODEX_CA_CERTIFICATE", false }, /* codex */
};
_Static_assert(ARRAY_SIZE(variables) <= TRUST_VARIABLES, "room for all");

int trust_open_file(const char *root, const char *path, int flags)
{
	char full[PATH_MAX];
	struct stat st;
	int fd;

	if (text_format(full, sizeof(full), "%s%s", root, path) < 0)
		return -1;
	/* Whatever a template has there must not hold up PID 1. */
	fd = open(full, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

static void write_file(const char *root, const char *path, const char *text)
{
	AUTO_CLOSE int fd =
		trust_open_file(root, path, O_WRONLY | O_CREAT | O_TRUNC);
	struct error err = { 0 };

	if (fd < 0)
		log_warn("%s: %s", path, strerror(errno));
	else if (fileio_write_all(fd, text, strlen(text), &err) < 0)
		log_warn("%s: %s", path, err.text);
}

/*
 * Where our block is to begin, in a file of this size whose last bytes are
 * tail: at the heading of an earlier one, or at the end.
 */
static off_t block_place(off_t size, const char *tail, size_t len)
{
	const char *found =
		len ? memmem(tail, len, TRUST_HEADING, strlen(TRUST_HEADING))
		    : NULL;

	return found ? size - (off_t)(tail + len - found) : size;
}

static int add_block(int fd, const char *block, struct error *err)
{
	char tail[BLOCK_MAX];
	struct stat st;
	off_t from, at;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat");
	from = st.st_size > (off_t)sizeof(tail)
		       ? st.st_size - (off_t)sizeof(tail)
		       : 0;
	len = pread(fd, tail, sizeof(tail), from);
	if (len < 0)
		return error_set(err, errno, "read");
	at = block_place(st.st_size, tail, (size_t)len);
	if (st.st_size - at == (off_t)strlen(block) &&
	    memcmp(tail + (at - from), block, strlen(block)) == 0)
		return 0;
	if (ftruncate(fd, at) < 0)
		return error_set(err, errno, "truncate");
	/* One that ends without a newline would swallow the heading. */
	if (at == st.st_size && len > 0 && tail[len - 1] != '\n') {
		if (fileio_pwrite_all(fd, "\n", 1, at++, err) < 0)
			return -1;
	}
	return fileio_pwrite_all(fd, block, strlen(block), at, err);
}

static bool add_to_bundle(const char *root, const char *path, int flags,
			  const char *block)
{
	AUTO_CLOSE int fd = trust_open_file(root, path, O_RDWR | flags);
	struct error err = { 0 };

	if (fd < 0)
		return false;
	if (add_block(fd, block, &err) < 0)
		log_warn("%s: %s", path, err.text);
	return true;
}

static int make_bundle_folder(const char *root)
{
	char folder[PATH_MAX];
	struct error err = { 0 };

	if (text_format(folder, sizeof(folder), "%s/etc/ssl/certs", root) < 0)
		return -1;
	return fileio_mkdirs(folder, 0755, &err);
}

/* A template without a list gets one with this authority alone. */
static void make_bundle(const char *root, const char *block)
{
	if (make_bundle_folder(root) < 0 ||
	    !add_to_bundle(root, bundles[0], O_CREAT, block))
		log_warn("no list of authorities");
}

static void add_to_bundles(const char *root, const char *block)
{
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++)
		any |= add_to_bundle(root, bundles[i], 0, block);
	if (!any)
		make_bundle(root, block);
}

static void add_anchors(const char *root, const char *pem)
{
	for (size_t i = 0; i < ARRAY_SIZE(anchors); i++) {
		char path[PATH_MAX];

		if (text_format(path, sizeof(path), "%s%s", root, anchors[i]) <
			    0 ||
		    access(path, F_OK) < 0)
			continue;
		(void)text_format(path, sizeof(path), "%s/bawn.crt",
				  anchors[i]);
		write_file(root, path, pem);
	}
}

static bool exists(const char *root, const char *path)
{
	char full[PATH_MAX];

	return text_format(full, sizeof(full), "%s%s", root, path) == 0 &&
	       access(full, R_OK) == 0;
}

const char *trust_bundle_place(unsigned n)
{
	return n < ARRAY_SIZE(bundles) ? bundles[n] : NULL;
}

const char *trust_find_bundle(const char *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		if (exists(root, bundles[i]))
			return bundles[i];
	}
	return NULL;
}

void trust_provide(const char *root, const void *list, size_t len)
{
	AUTO_CLOSE int fd = -1;
	struct error err = { 0 };

	if (trust_find_bundle(root) || !len || make_bundle_folder(root) < 0)
		return;
	fd = trust_open_file(root, bundles[0], O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0 || fileio_write_all(fd, list, len, &err) < 0)
		log_warn("%s could not be made", bundles[0]);
}

void trust_install(const char *root, const char *pem)
{
	char block[BLOCK_MAX];

	if (!*pem)
		return;
	if (text_format(block, sizeof(block), TRUST_HEADING "%s", pem) < 0) {
		log_warn("the authority is too long");
		return;
	}
	add_to_bundles(root, block);
	add_anchors(root, pem);
	write_file(root, TRUST_FILE, pem);
	trust_java_install(root, pem);
}

unsigned trust_variables(const char *root,
			 struct trust_variable out[TRUST_VARIABLES])
{
	const char *bundle = trust_find_bundle(root);
	unsigned count = 0;

	if (!exists(root, TRUST_FILE))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = variables[i].alone ? TRUST_FILE : bundle;

		if (value)
			out[count++] =
				(struct trust_variable){ variables[i].name,
							 value };
	}
	return count;
}
