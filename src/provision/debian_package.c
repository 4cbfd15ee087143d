/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package.c - packages fetched by the host's apt, never installed
 */
#include "provision/debian_package.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/tool.h"

#define OUTPUT_MAX (1u << 20)
#define LIST_MAX 256
#define NO_LISTS "apt knows no package %s (run \"sudo apt-get update\" once)"

static int ask(const char *const *argv, struct buffer *out, struct error *err)
{
	const char *path = child_tool(argv[0], err);
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .env = tool_env(),
				   .flags = CHILD_NULL_STDIO };

	return path ? child_run(&spec, out, err) : -1;
}

int debian_package_parse_depends(const char *text, const char *prefix,
				 char *name, size_t size)
{
	static const char mark[] = "Depends: ";

	while (text && *text) {
		const char *line = text + strspn(text, " |");
		size_t len = strcspn(line, "\n");

		if (text_starts(line, mark) &&
		    text_starts(line + sizeof(mark) - 1, prefix)) {
			len -= sizeof(mark) - 1;
			if (len >= size)
				return -1;
			memcpy(name, line + sizeof(mark) - 1, len);
			name[len] = '\0';
			return 0;
		}
		text = line + len + (line[len] == '\n');
	}
	return -1;
}

int debian_package_resolve(const char *package, const char *prefix, char *name,
			   size_t size, struct error *err)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	const char *argv[] = { "apt-cache", "depends", package, NULL };

	if (ask(argv, &out, err) < 0)
		return err->code == ENOENT
			       ? -1
			       : error_set(err, 0, NO_LISTS, package);
	if (debian_package_parse_depends(buffer_str(&out), prefix, name, size) <
	    0)
		return error_set(err, 0, NO_LISTS, package);
	return 0;
}

/* Cuts text into its lines; those that end with suffix go to words. */
static size_t cut_lines(char *text, const char *suffix, const char **words,
			size_t max)
{
	size_t count = 0;

	for (char *end; count < max && (end = strchr(text, '\n'));
	     text = end + 1) {
		*end = '\0';
		if (text_ends(text, suffix))
			words[count++] = text;
	}
	return count;
}

int debian_package_list(const char *prefix, const char *suffix,
			struct buffer *out, struct error *err)
{
	AUTO_BUFFER struct buffer names = BUFFER_INIT(OUTPUT_MAX);
	const char *all[] = { "apt-cache", "pkgnames", prefix, NULL };
	const char *argv[2 + LIST_MAX + 1] = { "apt-cache", "madison" };

	if (ask(all, &names, err) < 0)
		return -1;
	if (!buffer_str(&names) ||
	    !cut_lines((char *)names.data, suffix, argv + 2, LIST_MAX))
		return error_set(err, 0, NO_LISTS, prefix);
	return ask(argv, out, err);
}

/* "NAME |  VERSION | where from" */
bool debian_package_next(const char **text, struct debian_package *package)
{
	static_assert(sizeof(package->name) == 128, "as sscanf() has it");
	static_assert(sizeof(package->version) == 64, "as sscanf() has it");
	bool found = false;
	char line[512];

	while (!found && **text) {
		size_t len = strcspn(*text, "\n");

		text_format(line, sizeof(line), "%.*s", (int)len, *text);
		found = sscanf(line, " %127[^ |] | %63[^ |]", package->name,
			       package->version) == 2;
		*text += len + ((*text)[len] == '\n');
	}
	return found;
}

struct download {
	const struct progress *progress;
	int folder_fd;
	uint64_t total;
};

/* The name of the *.deb (or its partial form) in the folder. */
static int find_deb(int folder_fd, char *name, size_t size)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int result = -1;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (result < 0 && (entry = readdir(folder)))
		if (text_ends(entry->d_name, ".deb") ||
		    text_ends(entry->d_name, ".FAILED"))
			result = text_copy(name, size, entry->d_name);
	closedir(folder);
	return result;
}

static void show_download(void *ctx)
{
	struct download *download = ctx;
	char name[256];
	struct stat st;

	if (find_deb(download->folder_fd, name, sizeof(name)) == 0 &&
	    fstatat(download->folder_fd, name, &st, 0) == 0)
		progress_update(download->progress, (uint64_t)st.st_size,
				download->total);
}

static uint64_t size_of(const char *package)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	const char *argv[] = { "apt-cache", "--no-all-versions", "show",
			       package, NULL };
	struct error ignored;
	const char *line;
	char number[24] = "";
	uint64_t bytes = 0;

	if (ask(argv, &out, &ignored) < 0 || !buffer_str(&out))
		return 0;
	line = strstr(buffer_str(&out), "\nSize: ");
	if (!line || strcspn(line + 7, "\n") >= sizeof(number))
		return 0;
	memcpy(number, line + 7, strcspn(line + 7, "\n"));
	return text_to_u64(number, 0, UINT64_MAX, &bytes) < 0 ? 0 : bytes;
}

static int read_version(const char *deb, int folder_fd, char *version,
			size_t size, struct error *err)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	char path[512];
	const char *argv[] = { "dpkg-deb", "-f", path, "Version", NULL };
	const char *text;

	if (text_format(path, sizeof(path), "/proc/%d/fd/%d/%s", getpid(),
			folder_fd, deb) < 0)
		return error_set(err, 0, "the package's name is too long");
	if (ask(argv, &out, err) < 0)
		return -1;
	text = buffer_str(&out);
	text_printable(text, strcspn(text, "\n"), version, size);
	return 0;
}

int debian_package_fetch(const char *name, int folder_fd,
			 const struct progress *progress, char *version,
			 size_t size, struct error *err)
{
	/* The folder is private: apt's own user could not write there. */
	const char *get[] = { "apt-get",  "-q", "-o", "APT::Sandbox::User=root",
			      "download", name, NULL };
	char deb[256], path[264];
	const char *unpack[] = { "dpkg-deb", "-x", path, "root", NULL };
	struct download download = { progress, folder_fd, size_of(name) };

	if (tool_run(get, folder_fd, show_download, &download, err) < 0)
		return -1;
	if (find_deb(folder_fd, deb, sizeof(deb)) < 0)
		return error_set(err, 0, "apt-get brought no package");
	if (read_version(deb, folder_fd, version, size, err) < 0)
		return -1;
	text_format(path, sizeof(path), "./%s", deb);
	if (tool_run(unpack, folder_fd, NULL, NULL, err) < 0)
		return -1;
	unlinkat(folder_fd, deb, 0);
	return 0;
}
