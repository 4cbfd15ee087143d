/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_ini.c - NAME.ini: what a built-in template is made of
 */
#include "provision/template_ini.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

#define TEXT_MAX (64u << 10)

static void append(char ***list, const char *value)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	*list = xrealloc(*list, (n + 2) * sizeof(**list));
	(*list)[n] = value ? xstrdup(value) : NULL;
	if (value)
		(*list)[n + 1] = NULL;
}

static char **text_place(struct template_ini *ini, const char *key)
{
	const struct {
		const char *key;
		char **place;
	} rows[] = {
		{ "description", &ini->description },
		{ "builder", &ini->builder },
		{ "hook", &ini->hook },
		{ "from", &ini->from },
		{ "check", &ini->check },
		{ "vendor", &ini->vendor },
		{ "install", &ini->install },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(key, rows[i].key) == 0)
			return rows[i].place;
	return NULL;
}

static int set(struct template_ini *ini, const char *key, const char *value,
	       struct error *err)
{
	char **place = text_place(ini, key);

	if (strcmp(key, "package") == 0) {
		append(&ini->packages, value);
		return 0;
	}
	if (strcmp(key, "exclude") == 0) {
		append(&ini->excludes, value);
		return 0;
	}
	if (strcmp(key, "allow") == 0) {
		append(&ini->allows, value);
		return 0;
	}
	if (strcmp(key, "npm") == 0 || strcmp(key, "take") == 0 ||
	    strcmp(key, "link") == 0) {
		AUTO_FREE char *step = xasprintf("%s %s", key, value);

		append(&ini->steps, step);
		return 0;
	}
	if (strcmp(key, "needs") == 0)
		return text_to_size(value, &ini->needs_bytes) < 0
			       ? error_set(err, 0, "bad size \"%s\"", value)
			       : 0;
	if (!place || *place)
		return error_set(err, 0, "%s key \"%s\"",
				 place ? "repeated" : "unknown", key);
	*place = xstrdup(value);
	return 0;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int parse_line(char *line, struct template_ini *ini, struct error *err)
{
	char *value;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	value = strchr(line, '=');
	if (!value)
		return error_set(err, 0, "\"key = value\" expected");
	*value++ = '\0';
	return set(ini, trim(line), trim(value), err);
}

int template_ini_parse(const char *text, struct template_ini *ini,
		       struct error *err)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *line;
	unsigned number = 0;

	*ini = (struct template_ini){ 0 };
	append(&ini->packages, NULL);
	append(&ini->excludes, NULL);
	append(&ini->steps, NULL);
	append(&ini->allows, NULL);
	while ((line = strsep(&rest, "\n"))) {
		number++;
		if (parse_line(line, ini, err) < 0) {
			template_ini_release(ini);
			return error_prefix(err, "line %u", number);
		}
	}
	if (!ini->builder) {
		template_ini_release(ini);
		return error_set(err, 0, "no builder is named");
	}
	return 0;
}

int template_ini_load(const char *name, struct template_ini *ini,
		      struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TEXT_MAX);
	AUTO_FREE char *file = xasprintf("templates/%s.ini", name);
	AUTO_FREE char *path = NULL;

	if (strchr(name, '/') || name[0] == '.')
		return error_set(err, ENOENT, "%s", name);
	path = paths_of(PATHS_CONFIG, file, err);
	if (path && access(path, F_OK) < 0) {
		free(path);
		path = paths_data_file(file, err);
	}
	if (!path)
		return -1;
	if (fileio_read(AT_FDCWD, path, &text, err) < 0)
		return -1;
	if (!buffer_str(&text))
		return error_set(err, EFBIG, "%s", path);
	if (template_ini_parse(buffer_str(&text), ini, err) < 0)
		return error_prefix(err, "%s", path);
	return 0;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void template_ini_release(struct template_ini *ini)
{
	free(ini->description);
	free(ini->builder);
	free(ini->hook);
	free_list(ini->packages);
	free_list(ini->excludes);
	free_list(ini->steps);
	free_list(ini->allows);
	free(ini->install);
	free(ini->from);
	free(ini->check);
	free(ini->vendor);
	*ini = (struct template_ini){ 0 };
}
