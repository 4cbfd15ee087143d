/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_limit.c - how much memory the git that called us may take
 *
 * It is the limit of what programs write to (RLIMIT_DATA): packs of a large
 * repository, which git maps to read, do not count.
 */
#include "cli/fetch_limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

#define MOST_BYTES (4ull << 30)
#define LEAST_BYTES (64ull << 20) /* less, and git itself has no room */
#define TEXT_BYTES (64u * 1024)
#define PATH_BYTES 64

pid_t fetch_limit_parent(const char *stat)
{
	/* a program's name may hold anything, also what looks like the rest */
	const char *name_end = strrchr(stat, ')');
	char state;
	int parent;

	if (!name_end || sscanf(name_end + 1, " %c %d ", &state, &parent) != 2)
		return -1;
	return parent;
}

bool fetch_limit_is_caller(const char *words, size_t len)
{
	static const char second[] = "remote-bawn";
	const char *end = memchr(words, '\0', len);
	size_t left = end ? len - (size_t)(end + 1 - words) : 0;

	return left >= sizeof(second) &&
	       !memcmp(end + 1, second, sizeof(second));
}

static int read_of(pid_t pid, const char *what, struct buffer *text)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	text_format(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return fileio_read(AT_FDCWD, path, text, &err);
}

static bool is_git(pid_t pid)
{
	char path[PATH_BYTES], program[PATH_MAX];
	const char *slash;
	ssize_t len;

	text_format(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, program, sizeof(program) - 1);
	if (len <= 0)
		return false;
	program[len] = '\0';
	slash = strrchr(program, '/');
	return slash && !strcmp(slash + 1, "git");
}

/* The git that fetches: our parent, or that of the git that looked for us. */
static pid_t fetching_git(void)
{
	AUTO_BUFFER struct buffer words = BUFFER_INIT(TEXT_BYTES);
	AUTO_BUFFER struct buffer stat = BUFFER_INIT(TEXT_BYTES);
	pid_t pid = getppid();

	if (!is_git(pid) || read_of(pid, "cmdline", &words) < 0)
		return -1;
	if (!fetch_limit_is_caller(buffer_str(&words), words.len))
		return pid;
	if (read_of(pid, "stat", &stat) < 0)
		return -1;
	pid = fetch_limit_parent(buffer_str(&stat));
	return pid > 1 && is_git(pid) ? pid : -1;
}

static int wanted(uint64_t *bytes, struct error *err)
{
	const char *text = getenv(FETCH_LIMIT_VARIABLE);
	struct sysinfo info = { 0 };

	if (text && text_to_size(text, bytes) < 0)
		return error_set(err, 0,
				 FETCH_LIMIT_VARIABLE " is not a size: %s",
				 text);
	if (text)
		return 0;
	sysinfo(&info);
	*bytes = (uint64_t)info.totalram * info.mem_unit / 2;
	if (*bytes > MOST_BYTES)
		*bytes = MOST_BYTES;
	return 0;
}

int fetch_limit_set(pid_t *git, struct error *err)
{
	struct rlimit limit;
	uint64_t bytes;

	*git = -1;
	if (wanted(&bytes, err) < 0)
		return -1;
	if (bytes < LEAST_BYTES)
		bytes = LEAST_BYTES;
	*git = fetching_git();
	if (*git < 0 || prlimit(*git, RLIMIT_DATA, NULL, &limit) < 0) {
		log_debug("no git was found whose memory has a limit now");
		return 0;
	}
	if (limit.rlim_cur <= bytes)
		return 0;
	limit.rlim_cur = bytes;
	if (prlimit(*git, RLIMIT_DATA, &limit, NULL) < 0)
		log_debug("git's memory has no limit: %m");
	return 0;
}
