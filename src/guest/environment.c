/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - variables of a session, and the search along its PATH
 */
#include "guest/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "guest/accounts.h"
#include "guest/trust.h"
#include "proto/messages.h"

#define DEFAULT_PATH \
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define DEFAULTS_MAX (8 + TRUST_VARIABLES)
#define DEFAULT_TEXT_MAX (ACCOUNT_PATH_MAX + 16)

static void set_default(struct environment *environment, const char *key,
			const char *value)
{
	char *text =
		environment->defaults + environment->count * DEFAULT_TEXT_MAX;

	if (text_format(text, DEFAULT_TEXT_MAX, "%s=%s", key, value) == 0)
		environment->vars[environment->count++] = text;
}

/* Length of "K" in "K=V"; 0 when it is not of that form. */
static size_t key_length(const char *var)
{
	const char *equals = strchr(var, '=');

	return equals ? (size_t)(equals - var) : 0;
}

static void set_variable(struct environment *environment, const char *var)
{
	size_t key = key_length(var);

	if (!key)
		return;
	for (size_t i = 0; i < environment->count; i++) {
		if (!strncmp(environment->vars[i], var, key + 1)) {
			environment->vars[i] = var;
			return;
		}
	}
	environment->vars[environment->count++] = var;
}

static void set_trust(struct environment *environment)
{
	struct trust_variable variables[TRUST_VARIABLES];
	unsigned count = trust_variables("", variables);

	for (unsigned i = 0; i < count; i++)
		set_default(environment, variables[i].name, variables[i].value);
}

void environment_build(struct environment *environment,
		       const struct account *account, bool terminal,
		       const struct message_strings *extra)
{
	const char *name = account->name[0] ? account->name : NULL;
	const char *var = NULL;

	environment->count = 0;
	environment->vars = xcalloc(DEFAULTS_MAX + extra->count + 1,
				    sizeof(environment->vars[0]));
	environment->defaults = xcalloc(DEFAULTS_MAX, DEFAULT_TEXT_MAX);
	environment->vars[environment->count++] = DEFAULT_PATH;
	set_default(environment, "HOME", account->home);
	if (name) {
		set_default(environment, "USER", name);
		set_default(environment, "LOGNAME", name);
	}
	set_default(environment, "SHELL", account->shell);
	set_default(environment, "LANG", "C.UTF-8");
	if (terminal)
		set_default(environment, "TERM", "xterm-256color");
	set_trust(environment);
	for (uint32_t i = 0; i < extra->count; i++) {
		var = message_string_next(extra, var);
		set_variable(environment, var);
	}
	environment->vars[environment->count] = NULL;
}

void environment_release(struct environment *environment)
{
	free(environment->vars);
	free(environment->defaults);
	*environment = (struct environment){ 0 };
}

const char *environment_get(const struct environment *environment,
			    const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < environment->count; i++) {
		const char *var = environment->vars[i];

		if (!strncmp(var, name, len) && var[len] == '=')
			return var + len + 1;
	}
	return NULL;
}

bool environment_path_next(const char **path, const char *name, char *out,
			   size_t size)
{
	while (*path) {
		const char *folder = *path;
		const char *end = strchr(folder, ':');
		size_t len = end ? (size_t)(end - folder) : strlen(folder);

		*path = end ? end + 1 : NULL;
		if (!len) {
			folder = ".";
			len = 1;
		}
		if (len < size &&
		    !text_format(out, size, "%.*s/%s", (int)len, folder, name))
			return true;
	}
	return false;
}
