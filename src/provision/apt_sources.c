/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apt_sources.c - which of the host's package sources a template may use
 */
#include "provision/apt_sources.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define FILE_MAX (256u << 10)
#define DEFAULT_CODENAME "bookworm"
#define BLANKS " \t\r"

/* One entry; all texts are borrowed, lists are separated by blanks. */
struct entry {
	const char *types, *uris, *suites, *components, *signed_by;
	bool disabled;
};

/* The next word of *rest, or NULL. Writes into the text. */
static char *word(char **rest)
{
	char *found;

	do
		found = strsep(rest, BLANKS);
	while (found && !*found);
	return found;
}

static bool has_word(const char *list, const char *want)
{
	AUTO_FREE char *copy = xstrdup(list ? list : "");
	char *rest = copy, *one;

	while ((one = word(&rest)))
		if (strcmp(one, want) == 0)
			return true;
	return false;
}

static bool is_own_suite(const char *suite, const char *codename)
{
	size_t len = strlen(codename);

	return strncmp(suite, codename, len) == 0 &&
	       (!suite[len] || strcmp(suite + len, "-updates") == 0 ||
		strcmp(suite + len, "-security") == 0);
}

static int put_suites(const struct entry *entry, const char *uri,
		      const char *codename, struct buffer *out,
		      struct error *err)
{
	AUTO_FREE char *copy = xstrdup(entry->suites);
	char *rest = copy, *suite;
	/* A path is a key ring; anything else is a key written in place. */
	bool ring = entry->signed_by && entry->signed_by[0] == '/';

	while ((suite = word(&rest)))
		if (is_own_suite(suite, codename) &&
		    buffer_printf(out, "deb %s%s%s%s %s %s\n",
				  ring ? "[signed-by=" : "",
				  ring ? entry->signed_by : "",
				  ring ? "] " : "", uri, suite,
				  entry->components) < 0)
			return error_set(err, 0, "too many package sources");
	return 0;
}

static int put(const struct entry *entry, const char *codename,
	       struct buffer *out, struct error *err)
{
	AUTO_FREE char *copy = NULL;
	char *rest, *uri;

	if (entry->disabled || !entry->uris || !entry->suites ||
	    !has_word(entry->types, "deb") ||
	    !has_word(entry->components, "main"))
		return 0;
	copy = xstrdup(entry->uris);
	rest = copy;
	while ((uri = word(&rest)))
		if (put_suites(entry, uri, codename, out, err) < 0)
			return -1;
	return 0;
}

/* "deb [options] URI SUITE COMPONENTS…" */
static int select_line(char *line, const char *codename, struct buffer *out,
		       struct error *err)
{
	struct entry entry = { .types = "deb" };
	char *rest = line, *options, *first = word(&rest);
	AUTO_FREE char *ring = NULL;

	if (!first || strcmp(first, "deb") != 0 || !rest)
		return 0;
	rest += strspn(rest, BLANKS);
	if (*rest == '[') {
		options = strsep(&rest, "]");
		options = strstr(options, "signed-by=");
		if (options)
			ring = xstrndup(options + 10,
					strcspn(options + 10, BLANKS));
	}
	if (!rest)
		return 0;
	entry.signed_by = ring;
	entry.uris = word(&rest);
	entry.suites = word(&rest);
	entry.components = rest;
	return put(&entry, codename, out, err);
}

static const char **field_of(struct entry *entry, const char *key)
{
	if (strcasecmp(key, "Types") == 0)
		return &entry->types;
	if (strcasecmp(key, "URIs") == 0)
		return &entry->uris;
	if (strcasecmp(key, "Suites") == 0)
		return &entry->suites;
	if (strcasecmp(key, "Components") == 0)
		return &entry->components;
	if (strcasecmp(key, "Signed-By") == 0)
		return &entry->signed_by;
	return NULL;
}

static void read_field(char *line, struct entry *entry)
{
	char *value = strchr(line, ':');
	const char **field;

	/* A line that goes on (an inline key) is of no use here. */
	if (!value || *line == ' ' || *line == '\t' || *line == '#')
		return;
	*value++ = '\0';
	value += strspn(value, BLANKS);
	if (strcasecmp(line, "Enabled") == 0)
		entry->disabled = strcasecmp(value, "no") == 0;
	field = field_of(entry, line);
	if (field)
		*field = value;
}

int apt_sources_select(const char *text, enum apt_sources_style style,
		       const char *codename, struct buffer *out,
		       struct error *err)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *line;
	struct entry entry = { 0 };

	while ((line = strsep(&rest, "\n"))) {
		if (style == APT_SOURCES_LIST) {
			line[strcspn(line, "#")] = '\0';
			if (select_line(line, codename, out, err) < 0)
				return -1;
			continue;
		}
		if (line[strspn(line, BLANKS)]) {
			read_field(line, &entry);
			continue;
		}
		if (put(&entry, codename, out, err) < 0)
			return -1;
		entry = (struct entry){ 0 };
	}
	return put(&entry, codename, out, err);
}

static int select_file(const char *path, const char *codename,
		       struct buffer *out, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	struct error unread;
	enum apt_sources_style style = text_ends(path, ".sources")
					       ? APT_SOURCES_DEB822
					       : APT_SOURCES_LIST;

	/* A file that this user may not read is no source for this user. */
	if (fileio_read(AT_FDCWD, path, &text, &unread) < 0 ||
	    !buffer_str(&text))
		return 0;
	return apt_sources_select(buffer_str(&text), style, codename, out, err);
}

static void read_codename(char *codename, unsigned size)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	struct error unread;
	const char *name = NULL;
	size_t len = 0;

	if (fileio_read(AT_FDCWD, "/usr/lib/os-release", &text, &unread) == 0 &&
	    buffer_str(&text) && strstr(buffer_str(&text), "\nID=debian\n"))
		name = strstr(buffer_str(&text), "\nVERSION_CODENAME=");
	if (name) {
		name += strlen("\nVERSION_CODENAME=");
		len = strcspn(name, "\n\"");
	}
	if (len == 0 || len >= size) {
		text_copy(codename, size, DEFAULT_CODENAME);
		return;
	}
	memcpy(codename, name, len);
	codename[len] = '\0';
}

int apt_sources_of_host(struct buffer *out, char *codename, unsigned size,
			struct error *err)
{
	DIR *folder = opendir("/etc/apt/sources.list.d");
	struct dirent *file;
	int result;

	read_codename(codename, size);
	result = select_file("/etc/apt/sources.list", codename, out, err);
	while (folder && result == 0 && (file = readdir(folder))) {
		AUTO_FREE char *path =
			xasprintf("/etc/apt/sources.list.d/%s", file->d_name);

		if (text_ends(path, ".list") || text_ends(path, ".sources"))
			result = select_file(path, codename, out, err);
	}
	if (folder)
		closedir(folder);
	return result;
}
