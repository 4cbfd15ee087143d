/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_init.c - init: helpers for a project, which bawn itself never runs
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

#define FOLDER ".sandbox"
#define FILE_MAX_BYTES (64u * 1024)
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const struct {
	const char *source; /* in data/ */
	const char *name;
	bool in_folder; /* of FOLDER; otherwise of the project */
	mode_t mode;
} rows[] = {
	{ "init/Dockerfile", "Dockerfile", true, 0644 },
	{ "init/network-policy.sh", "network-policy.sh", true, 0755 },
	{ "init/sandbox-ralph.sh", "sandbox-ralph.sh", true, 0755 },
	{ "init/ralph.sh", "ralph.sh", false, 0755 },
};

static int read_source(const char *source, struct buffer *text,
		       struct error *err)
{
	AUTO_FREE char *path = paths_data_file(source, err);

	return path ? fileio_read(AT_FDCWD, path, text, err) : -1;
}

/* A file that is there stays as it is, also a link. */
static int write_file(int folder, const char *name, mode_t mode,
		      const struct buffer *text, bool *wrote, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	*wrote = fd >= 0;
	if (fd < 0)
		return errno == EEXIST ? 0 : error_set(err, errno, "%s", name);
	return fileio_write_all(fd, text->data, text->len, err);
}

static int write_row(size_t i, int project, int folder, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX_BYTES);
	const char *lead = rows[i].in_folder ? FOLDER "/" : "";
	bool wrote;

	if (read_source(rows[i].source, &text, err) < 0 ||
	    write_file(rows[i].in_folder ? folder : project, rows[i].name,
		       rows[i].mode, &text, &wrote, err) < 0)
		return -1;
	printf("%s%s%s\n", lead, rows[i].name,
	       wrote ? "" : " is there already");
	return 0;
}

static int run(const struct options *options, struct error *err)
{
	const char *path = options->word_count ? options->words[0] : ".";
	AUTO_CLOSE int project = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int folder = -1;

	if (project < 0)
		return error_set(err, errno, "%s", path);
	if (mkdirat(project, FOLDER, 0755) < 0 && errno != EEXIST)
		return error_set(err, errno, "%s/" FOLDER, path);
	folder = openat(project, FOLDER, OPEN_FOLDER);
	if (folder < 0)
		return error_set(err, errno, "%s/" FOLDER, path);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (write_row(i, project, folder, err) < 0)
			return -1;
	return 0;
}

const struct command command_init = {
	.name = "init",
	.arguments = "[DIR]",
	.help = "write helpers for a loop in a sandbox into a project",
	.details = "Writes .sandbox/sandbox-ralph.sh, "
		   ".sandbox/network-policy.sh, .sandbox/Dockerfile and\n"
		   "ralph.sh, and leaves alone what is there. Nothing is "
		   "executed.",
	.completes = COMPLETE_FOLDERS,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
