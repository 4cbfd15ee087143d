/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.c - the certificate authority of a sandbox, made when it is missing
 */
#include "cli/authority.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/store.h"
#include "state/paths.h"

#define FOLDER "net"
#define CERTIFICATE "ca.crt"
#define CERTIFICATE_MAX 8192
#define HELPER_FD 3

static int open_folder(const struct sandbox *sandbox, struct error *err)
{
	int fd;

	if (mkdirat(sandbox->folder, FOLDER, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, FOLDER);
	fd = openat(sandbox->folder, FOLDER,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_set(err, errno, FOLDER) : fd;
}

/* With a child: only starts it. */
static int make(int folder, const char *name, struct child *child,
		struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-ca", err);
	const char *argv[] = { "bawn-ca", name, NULL };
	const struct child_fd fd = { folder, HELPER_FD };
	const struct child_spec spec = { .path = path,
					 .argv = argv,
					 .fds = &fd,
					 .fd_count = 1,
					 .flags = CHILD_DIE_WITH_US |
						  CHILD_NULL_STDIO };

	if (!path)
		return -1;
	return child ? child_spawn(&spec, child, err)
		     : child_run(&spec, NULL, err);
}

void authority_begin(const struct sandbox *sandbox, struct child *child)
{
	struct error err = { 0 };
	AUTO_CLOSE int folder = open_folder(sandbox, &err);

	*child = (struct child){ .pidfd = -1 };
	if (folder >= 0 && make(folder, sandbox->record.name, child, &err) < 0)
		*child = (struct child){ .pidfd = -1 };
}

void authority_wait(struct child *child)
{
	int status;

	if (child->pid > 0)
		(void)child_wait(child, &status, NULL);
}

char *authority_ensure(const struct sandbox *sandbox, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CERTIFICATE_MAX);
	AUTO_CLOSE int folder = open_folder(sandbox, err);

	if (folder < 0)
		return NULL;
	if (faccessat(folder, CERTIFICATE, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    make(folder, sandbox->record.name, NULL, err) < 0)
		return NULL;
	if (fileio_read(folder, CERTIFICATE, &text, err) < 0)
		return NULL;
	return xstrndup((const char *)text.data, text.len);
}
