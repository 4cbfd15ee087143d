/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm_registry.c - which npm registry the user has
 */
#include "provision/npm_registry.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/tool.h"

#define FILE_MAX (256u << 10)
#define ANSWER_MAX 4096
#define ENV_MAX 32

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\"'");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r\n\"'", text[len - 1]))
		text[--len] = '\0';
	return text;
}

char *npm_registry_parse(const char *text)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *line, *found = NULL;

	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = '\0';
		value = trim(value);
		/* what names a variable is for npm to read */
		if (strcmp(trim(line), "registry") != 0 || !*value ||
		    strchr(value, '$'))
			continue;
		free(found);
		found = xstrdup(value);
	}
	return found;
}

static char *from_home(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	const char *home = getenv("HOME");
	AUTO_FREE char *path = home ? xasprintf("%s/.npmrc", home) : NULL;

	if (!path || fileio_read(AT_FDCWD, path, &text, NULL) < 0 ||
	    !buffer_str(&text))
		return NULL;
	return npm_registry_parse(buffer_str(&text));
}

static char *from_npm(const char *folder)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(ANSWER_MAX);
	static const char *const argv[] = { "npm",      "--location=global",
					    "config",   "get",
					    "registry", NULL };
	AUTO_FREE char *cache = xasprintf("npm_config_cache=%s", folder);
	const char *env[ENV_MAX], *const *common = tool_env();
	struct child_spec spec = { .argv = argv,
				   .env = env,
				   .flags = CHILD_NULL_STDIO };
	size_t n = 0;

	spec.path = child_tool("npm", NULL);
	for (; common[n] && n < ENV_MAX - 2; n++)
		env[n] = common[n];
	env[n++] = cache;
	env[n] = NULL;
	if (!spec.path || child_run(&spec, &text, NULL) < 0 ||
	    !buffer_str(&text))
		return NULL;
	return xstrdup(trim((char *)text.data));
}

char *npm_registry_find(const char *folder, struct error *err)
{
	static const char *const names[] = { "npm_config_registry",
					     "NPM_CONFIG_REGISTRY" };
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]) && *getenv(names[i]))
			return xstrdup(getenv(names[i]));
	found = from_home();
	if (!found)
		found = from_npm(folder);
	if (found && text_starts(found, "http"))
		return found;
	free(found);
	error_set(err, 0,
		  "no npm registry is known (set npm_config_registry to its "
		  "address, or run \"sudo apt-get install npm\")");
	return NULL;
}
