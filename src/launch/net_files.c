/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_files.c - sandboxes/NAME/net/: what outlives a bawn-net
 */
#include "launch/net_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

#define FOLDER "net"
#define NAMES "names"
#define LOG "log.jsonl"
#define CERTIFICATE "ca.crt"
#define KEY "ca.key"
#define PEM_MAX 8192

int net_files_folder(int sandbox_folder, struct error *err)
{
	int fd;

	if (mkdirat(sandbox_folder, FOLDER, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, FOLDER);
	fd = openat(sandbox_folder, FOLDER,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_set(err, errno, FOLDER) : fd;
}

static int open_regular(int folder, const char *name, int flags,
			struct error *err)
{
	AUTO_CLOSE int fd = openat(folder, name,
				   flags | O_APPEND | O_CREAT | O_NOFOLLOW |
					   O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				   0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, FOLDER "/%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, FOLDER "/%s: not a file", name);
	return TAKE_FD(fd);
}

int net_files_names(int folder, struct error *err)
{
	return open_regular(folder, NAMES, O_RDWR, err);
}

json_t *net_files_authority(int folder)
{
	AUTO_BUFFER struct buffer certificate = BUFFER_INIT(PEM_MAX);
	AUTO_BUFFER struct buffer key = BUFFER_INIT(PEM_MAX);
	struct error err = { 0 };
	json_t *json = NULL;

	if (fileio_read(folder, CERTIFICATE, &certificate, &err) == 0 &&
	    fileio_read(folder, KEY, &key, &err) == 0)
		json = json_pack("{s:s%, s:s%}", "certificate",
				 certificate.data, certificate.len, "key",
				 key.data, key.len);
	else if (err.code != ENOENT)
		log_warn(FOLDER "/%s", err.text);
	if (key.len)
		explicit_bzero(key.data, key.len);
	return json ? json : json_null();
}

/* log.jsonl becomes log.jsonl.1 and so on; the last one goes. */
static void move_logs(int folder)
{
	for (int i = NET_FILES_LOGS - 1; i > 0; i--) {
		char from[32] = LOG, to[32];

		if (i > 1)
			text_format(from, sizeof(from), LOG ".%d", i - 1);
		text_format(to, sizeof(to), LOG ".%d", i);
		/* One that is missing leaves a gap and nothing else. */
		(void)renameat(folder, from, folder, to);
	}
}

int net_files_log(int folder, struct error *err)
{
	struct stat st;

	if (fstatat(folder, LOG, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size >= NET_FILES_LOG_MAX)
		move_logs(folder);
	return open_regular(folder, LOG, O_WRONLY, err);
}
