/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity.c - who commits in the guest, as the host says
 */
#include "guest/git_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

#define SYSTEM_FILE "/etc/gitconfig"
#define SYSTEM_MAX (1u << 20)
#define INCLUDE "[include]\n\tpath = " GIT_IDENTITY_FILE "\n"

/* What is there now; one that is no small file is left alone. */
static int read_system(const char *path, struct buffer *text)
{
	/* Whatever a template has there must not hold up PID 1. */
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					       O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return fileio_read_fd(fd, text, NULL);
}

static void include(const char *root)
{
	AUTO_BUFFER struct buffer text =
		BUFFER_INIT(SYSTEM_MAX + sizeof(INCLUDE));
	AUTO_BUFFER struct buffer old = BUFFER_INIT(SYSTEM_MAX);
	char path[PATH_MAX];
	struct error err = { 0 };

	if (text_format(path, sizeof(path), "%s" SYSTEM_FILE, root) < 0 ||
	    read_system(path, &old) < 0) {
		log_warn(SYSTEM_FILE " stays as it is");
		return;
	}
	/* Once, wherever somebody has moved it. */
	if (old.len && memmem(old.data, old.len, GIT_IDENTITY_FILE,
			      strlen(GIT_IDENTITY_FILE)))
		return;
	if (buffer_append(&text, INCLUDE, strlen(INCLUDE)) < 0 ||
	    (old.len && buffer_append(&text, old.data, old.len) < 0))
		return;
	if (fileio_replace(AT_FDCWD, path, text.data, text.len, 0644, 0, &err) <
	    0)
		log_warn("%s", err.text);
}

void git_identity_install(const char *root, const char *text)
{
	char path[PATH_MAX];
	struct error err = { 0 };

	if (text_format(path, sizeof(path), "%s" GIT_IDENTITY_FILE, root) < 0)
		return;
	if (!*text) {
		(void)unlink(path);
		return;
	}
	if (fileio_replace(AT_FDCWD, path, text, strlen(text), 0644, 0, &err) <
	    0)
		log_warn("%s", err.text);
	else
		include(root);
}
