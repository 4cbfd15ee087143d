/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registries.c - the file config/registries: mirrors, and what to trust
 */
#include "oci/registries.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int bad(const char *what, const char *value, struct error *err)
{
	char shown[120];

	text_printable(value, strlen(value), shown, sizeof(shown));
	return error_set(err, 0, "%s: \"%s\"", what, shown);
}

static bool prefix_is_valid(const char *prefix)
{
	struct reference unused;
	AUTO_FREE char *name = xasprintf("localhost/%s", prefix);

	return !*prefix || (!strpbrk(prefix, ":@") &&
			    reference_parse(name, &unused, NULL) == 0);
}

static int parse_mirror(const char *value, struct registries_mirror *mirror,
			struct error *err)
{
	const char *at = value, *slash;

	*mirror = (struct registries_mirror){ .http = false };
	if (text_starts(at, "http://")) {
		mirror->http = true;
		at += strlen("http://");
	} else if (text_starts(at, "https://")) {
		at += strlen("https://");
	}
	slash = at + strcspn(at, "/");
	if (text_format(mirror->host, sizeof(mirror->host), "%.*s",
			(int)(slash - at), at) < 0 ||
	    !reference_host_is_valid(mirror->host))
		return bad("no name of a registry", value, err);
	while (*slash == '/')
		slash++;
	if (text_copy(mirror->prefix, sizeof(mirror->prefix), slash) < 0)
		return bad("too long", value, err);
	if (text_ends(mirror->prefix, "/"))
		mirror->prefix[strlen(mirror->prefix) - 1] = '\0';
	if (!prefix_is_valid(mirror->prefix))
		return bad("no path of a registry", value, err);
	if (mirror->http && !reference_is_loopback(mirror->host))
		return bad("plain http is for mirrors on this machine only",
			   value, err);
	return 0;
}

/* entry is NULL in the section of another registry. */
static int set(const char *key, const char *value,
	       struct registries_entry *entry, struct error *err)
{
	struct registries_entry other = { .mirror_count = 0 };

	entry = entry ? entry : &other;
	if (strcmp(key, "mirror") == 0) {
		if (entry->mirror_count == REGISTRIES_MIRRORS_MAX)
			return bad("too many mirrors", value, err);
		return parse_mirror(
			value, &entry->mirrors[entry->mirror_count++], err);
	}
	if (strcmp(key, "ca") != 0)
		return bad("unknown key", key, err);
	if (value[0] != '/' ||
	    text_copy(entry->ca, sizeof(entry->ca), value) < 0)
		return bad("no absolute path", value, err);
	return 0;
}

static int parse_line(char *line, const char *host, bool *in_section,
		      bool *ours, struct registries_entry *entry,
		      struct error *err)
{
	char *value;
	size_t len;

	line = trim(line);
	len = strlen(line);
	if (!len || *line == '#')
		return 0;
	if (*line == '[' && line[len - 1] == ']') {
		line[len - 1] = '\0';
		if (!reference_host_is_valid(line + 1))
			return bad("no name of a registry", line + 1, err);
		*in_section = true;
		*ours = strcmp(line + 1, host) == 0;
		return 0;
	}
	value = strchr(line, '=');
	if (!value || !*in_section)
		return bad("\"[registry]\" or \"key = value\" expected", line,
			   err);
	*value++ = '\0';
	return set(trim(line), trim(value), *ours ? entry : NULL, err);
}

int registries_find(const char *text, const char *host,
		    struct registries_entry *entry, struct error *err)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *line;
	bool in_section = false, ours = false;
	unsigned number = 0;

	*entry = (struct registries_entry){ .mirror_count = 0 };
	while ((line = strsep(&rest, "\n"))) {
		number++;
		if (parse_line(line, host, &in_section, &ours, entry, err) < 0)
			return error_prefix(err, "line %u", number);
	}
	return 0;
}
