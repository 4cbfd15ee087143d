/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.c - data/agents.json: which agents there are, and how each is run
 */
#include "state/agents.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/data_list.h"

#define SETTINGS_MAX 32

AUTO_DEFINE(json, json_t *, json_decref)

static const char *const outputs[] = {
	[AGENT_OUTPUT_TEXT] = "text",
	[AGENT_OUTPUT_CLAUDE] = "claude-stream-json",
	[AGENT_OUTPUT_CODEX] = "codex-json",
	[AGENT_OUTPUT_GEMINI] = "gemini-stream-json",
	[AGENT_OUTPUT_COPILOT] = "copilot-json",
	[AGENT_OUTPUT_OPENCODE] = "opencode-json",
};
static_assert(ARRAY_SIZE(outputs) == AGENT_OUTPUTS, "every output has a name");

static const char *const forms[] = {
	[AGENT_INTERACTIVE] = "interactive",
	[AGENT_RESUME] = "resume",
	[AGENT_ONCE] = "once",
	[AGENT_RESUME_ONCE] = "resume_once",
	[AGENT_FALLBACK] = "fallback",
};
static_assert(ARRAY_SIZE(forms) == AGENT_FORMS, "every form has a name");

const char *agent_text(const json_t *agent, const char *key)
{
	return json_string_value(json_object_get(agent, key));
}

/* ---- checking ---- */

/* Part of a sandbox's name, and a word that is no path. */
static bool is_name(const json_t *json)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);

	if (!text || !len || len > AGENT_NAME_MAX || text[0] == '-' ||
	    text[len - 1] == '-')
		return false;
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* What a process can be given. */
static bool is_argument(const json_t *json)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);

	return text && len <= AGENT_TEXT_MAX && strlen(text) == len;
}

static bool is_variable(const char *text)
{
	return *text && strlen(text) <= AGENT_TEXT_MAX &&
	       !(text[0] >= '0' && text[0] <= '9') &&
	       !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

static int check_list(const json_t *list, const char *what,
		      bool (*is_good)(const json_t *), struct error *err)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > AGENT_LIST_MAX)
		return error_set(err, 0, "%s: a list of at most %d", what,
				 AGENT_LIST_MAX);
	json_array_foreach(list, i, item)
	{
		if (!is_good(item))
			return error_set(err, 0, "%s: item %zu", what, i + 1);
	}
	return 0;
}

static bool is_variable_name(const json_t *json)
{
	return is_argument(json) && is_variable(json_string_value(json));
}

static int check_forms(const json_t *agent, struct error *err)
{
	for (size_t i = 0; i < AGENT_FORMS; i++) {
		const json_t *argv = json_object_get(agent, forms[i]);

		if (!argv && i != AGENT_INTERACTIVE && i != AGENT_ONCE)
			continue;
		if (check_list(argv, forms[i], is_argument, err) < 0)
			return -1;
		if (!json_string_length(json_array_get(argv, 0)))
			return error_set(err, 0, "%s: no program", forms[i]);
	}
	return 0;
}

static int check_environment(json_t *object, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object) ||
	    json_object_size(object) > AGENT_LIST_MAX)
		return error_set(err, 0, "environment: at most %d variables",
				 AGENT_LIST_MAX);
	json_object_foreach(object, key, value)
	{
		if (!is_variable(key) || !is_argument(value))
			return error_set(err, 0,
					 "environment: a NAME and a text");
	}
	return 0;
}

/* Beneath the home, and nowhere else. */
static bool is_home_path(const json_t *json)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);

	if (!is_argument(json) || !len || len > 255)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	for (const char *part = text; part;) {
		size_t n = strcspn(part, "/");

		if (!n || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		part = part[n] ? part + n + 1 : NULL;
	}
	return true;
}

static bool is_seed(const json_t *seed)
{
	const json_t *object = json_object_get(seed, "json");
	const json_t *text = json_object_get(seed, "text");

	return json_is_object(seed) && json_object_size(seed) == 2 &&
	       is_home_path(json_object_get(seed, "path")) &&
	       (json_is_object(object) || is_argument(text));
}

/* Where agents keep logins: these never come in, whatever a table says. */
static bool is_login(const char *path)
{
	static const char *const names[] = {
		".claude.json", ".credentials.json",
		"credentials",  "credentials.json",
		"auth.json",    "oauth_creds.json",
		"hosts.yml",    ".netrc",
		".ssh",         ".gnupg",
		".aws",         "tokens.json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (const char *part = path; part;) {
			size_t len = strcspn(part, "/");

			if (len == strlen(names[i]) &&
			    !strncasecmp(part, names[i], len))
				return true;
			part = part[len] ? part + len + 1 : NULL;
		}
	return false;
}

/* Names of files and folders of the home; a whole folder of dots is none. */
static int check_settings(json_t *settings, struct error *err)
{
	const char *name, *path;
	json_t *value;

	if (!json_is_object(settings) ||
	    json_object_size(settings) > SETTINGS_MAX)
		return error_set(err, 0, "settings: names and paths");
	json_object_foreach(settings, name, value)
	{
		path = json_string_value(value);
		if (!*name || strlen(name) > 64 || strpbrk(name, ":,/") ||
		    !is_home_path(value) || !strchr(path, '/') ||
		    is_login(path))
			return error_set(err, 0,
					 "settings: \"%.64s\" is not one that "
					 "may come in",
					 name);
	}
	return 0;
}

static int check_agent(json_t *agent, struct error *err)
{
	json_t *name, *aliases = NULL, *forms_of[AGENT_FORMS] = { NULL };
	json_t *variables, *environment, *notice = NULL, *seeds = NULL,
					 *settings = NULL;
	const char *template_name, *output;
	json_error_t why;
	int word = 0;

	if (json_unpack_ex(
		    agent, &why, JSON_STRICT,
		    "{s:o, s?o, s:s, s:o, s?o, s:o, s?o, s?o, s:s, s:o, s:o, "
		    "s?o, s?o, s?o, s?b}",
		    "name", &name, "aliases", &aliases, "template",
		    &template_name, forms[0], &forms_of[0], forms[1],
		    &forms_of[1], forms[2], &forms_of[2], forms[3],
		    &forms_of[3], forms[4], &forms_of[4], "output", &output,
		    "variables", &variables, "environment", &environment,
		    "notice", &notice, "seeds", &seeds, "settings", &settings,
		    "word_is_program", &word) < 0)
		return error_set(err, 0, "%s", why.text);
	if (!is_name(name))
		return error_set(err, 0, "a name has 1 to %d of a-z, 0-9, '-'",
				 AGENT_NAME_MAX);
	if ((aliases && check_list(aliases, "aliases", is_name, err) < 0) ||
	    check_forms(agent, err) < 0 ||
	    check_list(variables, "variables", is_variable_name, err) < 0 ||
	    check_environment(environment, err) < 0 ||
	    (seeds && check_list(seeds, "seeds", is_seed, err) < 0) ||
	    (settings && check_settings(settings, err) < 0))
		return -1;
	if (notice && !is_home_path(notice))
		return error_set(err, 0, "notice: a path beneath the home");
	if (!*template_name || strlen(template_name) > 255)
		return error_set(err, 0, "template: a name");
	if (agent_output_of(agent) == AGENT_OUTPUTS)
		return error_set(err, 0, "output: \"%s\" is not known", output);
	return 0;
}

/* ---- lists ---- */

static bool is_called(const json_t *agent, const char *word)
{
	json_t *alias;
	size_t i;

	if (strcmp(agent_text(agent, "name"), word) == 0)
		return true;
	json_array_foreach(json_object_get(agent, "aliases"), i, alias)
	{
		if (strcmp(json_string_value(alias), word) == 0)
			return true;
	}
	return false;
}

/* A word that means two agents means none. */
static int check_spellings(const json_t *list, struct error *err)
{
	json_t *agent, *alias;
	size_t i, k;

	json_array_foreach(list, i, agent)
	{
		const char *name = agent_text(agent, "name");

		if (agents_find(list, name) != agent)
			return error_set(err, 0, "%s: two agents are called so",
					 name);
		json_array_foreach(json_object_get(agent, "aliases"), k, alias)
		{
			if (agents_find(list, json_string_value(alias)) !=
			    agent)
				return error_set(err, 0,
						 "%s: two agents are called so",
						 json_string_value(alias));
		}
	}
	return 0;
}

json_t *agents_parse(const void *bytes, size_t len, struct error *err)
{
	AUTO(json)
	json_t *root =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	json_t *list = json_object_get(root, "agents"), *item;
	size_t i;

	if (!json_is_array(list) || json_object_size(root) != 1 ||
	    json_array_size(list) > AGENTS_MAX) {
		error_set(err, 0, "not {\"agents\": [...]}");
		return NULL;
	}
	json_array_foreach(list, i, item)
	{
		if (check_agent(item, err) == 0)
			continue;
		error_prefix(err, "agent %zu", i + 1);
		return NULL;
	}
	return check_spellings(list, err) < 0 ? NULL : json_incref(list);
}

json_t *agents_find(const json_t *list, const char *word)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (is_called(item, word))
			return item;
	}
	return NULL;
}

static size_t place_of(const json_t *list, const char *name)
{
	size_t i = 0;

	while (i < json_array_size(list) &&
	       strcmp(agent_text(json_array_get(list, i), "name"), name) != 0)
		i++;
	return i;
}

int agents_merge(json_t *list, const json_t *more, struct error *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(more, i, item)
	{
		size_t at = place_of(list, agent_text(item, "name"));

		if (at < json_array_size(list))
			json_array_set(list, at, item);
		else if (at >= AGENTS_MAX || json_array_append(list, item) < 0)
			return error_set(err, 0, "too many agents");
	}
	return check_spellings(list, err);
}

/* ---- files ---- */

static const struct data_list kind = {
	.file = AGENTS_FILE,
	.folder = AGENTS_FOLDER,
	.bytes_max = AGENT_BYTES_MAX,
	.parse = agents_parse,
	.merge = agents_merge,
};

json_t *agents_load_from(const char *file, const char *folder,
			 struct error *err)
{
	return data_list_load_from(&kind, file, folder, err);
}

json_t *agents_load(struct error *err)
{
	return data_list_load(&kind, err);
}

/* ---- one agent ---- */

enum agent_output agent_output_of(const json_t *agent)
{
	const char *name = agent_text(agent, "output");
	size_t i = 0;

	while (i < AGENT_OUTPUTS && strcmp(outputs[i], name) != 0)
		i++;
	return (enum agent_output)i;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

const char **agent_argv(const json_t *agent, enum agent_form form,
			const char *const *args)
{
	const json_t *own = json_object_get(agent, forms[form]);
	bool bare = args && args[0] && args[0][0] != '-';
	bool whole =
		bare && json_is_true(json_object_get(agent, "word_is_program"));
	size_t n = 0, own_count = json_array_size(own);
	const char **argv;

	if (!own || (whole && form == AGENT_FALLBACK))
		return NULL;
	if (bare)
		own_count = whole ? 0 : 1; /* its flags are replaced */
	argv = xcalloc(own_count + count(args) + 1, sizeof(char *));
	for (; n < own_count; n++)
		argv[n] = json_string_value(json_array_get(own, n));
	for (; args && *args; args++)
		argv[n++] = *args;
	return argv;
}
