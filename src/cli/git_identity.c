/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity.c - who commits inside: the user of the host's git
 *
 * git itself reads its configuration, for the sake of includes and of quoting.
 * With a git folder that does not exist it looks into no repository, and
 * `git config` runs nothing that a configuration names.
 */
#include "cli/git_identity.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define OUTPUT_MAX 65536
#define TEXT_MAX (4 * GIT_IDENTITY_MAX + 64)

static bool is_plain(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return false;
	}
	return len > 0 && len <= GIT_IDENTITY_MAX;
}

/* The value of the last "KEY\nVALUE\0"; NULL: there is none that is good. */
static const char *last_value(const char *output, size_t len, const char *key)
{
	const char *found = NULL;
	size_t key_len = strlen(key);

	while (len) {
		const char *end = memchr(output, '\0', len);
		size_t size = end ? (size_t)(end - output) + 1 : len;

		if (end && size > key_len + 1 &&
		    !strncmp(output, key, key_len) && output[key_len] == '\n')
			found = output + key_len + 1;
		output += size;
		len -= size;
	}
	return found && is_plain(found) ? found : NULL;
}

static void add(struct buffer *text, const char *key, const char *value)
{
	if (!value)
		return;
	(void)buffer_printf(text, "\t%s = \"", key);
	for (; *value; value++)
		(void)buffer_printf(text, "%s%c",
				    strchr("\"\\", *value) ? "\\" : "", *value);
	(void)buffer_printf(text, "\"\n");
}

char *git_identity_text(const char *output, size_t len)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TEXT_MAX);
	const char *name = last_value(output, len, "user.name");
	const char *email = last_value(output, len, "user.email");

	if (!name && !email)
		return xstrdup("");
	(void)buffer_printf(&text, "[user]\n");
	add(&text, "name", name);
	add(&text, "email", email);
	return xstrdup(buffer_str(&text));
}

/* What says where the host's configuration is. */
static void make_environment(const char **env, char **texts)
{
	static const char *const passed[] = { "HOME", "XDG_CONFIG_HOME",
					      "GIT_CONFIG_GLOBAL",
					      "GIT_CONFIG_SYSTEM",
					      "GIT_CONFIG_NOSYSTEM" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		const char *value = getenv(passed[i]);

		if (!value)
			continue;
		texts[n] = xasprintf("%s=%s", passed[i], value);
		env[n] = texts[n];
		n++;
	}
	env[n++] = "GIT_DIR=/nonexistent";
	env[n++] = "LC_ALL=C.UTF-8";
	env[n] = NULL;
}

char *git_identity_load(void)
{
	const char *argv[] = {
		"git",        "config",       "-z",
		"--includes", "--get-regexp", "^user\\.(name|email)$",
		NULL
	};
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	const char *tool = child_tool("git", NULL);
	const char *env[8];
	char *texts[8] = { NULL };
	struct child_spec spec = { .path = tool, .argv = argv, .env = env };
	int failed = -1;

	make_environment(env, texts);
	if (tool)
		failed = child_run(&spec, &out, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	if (failed || !out.len)
		return xstrdup("");
	return git_identity_text((const char *)out.data, out.len);
}
