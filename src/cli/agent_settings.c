/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_settings.c - the user's own settings of an agent: names, and what is
 * left out of them
 */
#include "cli/agent_settings.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "state/agents.h"

#define DEPTH_MAX 32
#define READ_ONLY ":ro"

static void say_names(const json_t *settings, char *out, size_t size)
{
	const char *name;
	json_t *path;

	out[0] = '\0';
	json_object_foreach((json_t *)(uintptr_t)settings, name, path)(void)
		text_format(out + strlen(out), size - strlen(out), "%s%s",
			    out[0] ? ", " : "", name);
}

static int find(const json_t *agent, struct agent_setting *setting,
		struct error *err)
{
	const json_t *settings = json_object_get(agent, "settings");
	const char *notice = agent_text(agent, "notice");
	char names[300];

	setting->path =
		json_string_value(json_object_get(settings, setting->name));
	if (!setting->path) {
		say_names(settings, names, sizeof(names));
		return options_usage(err, "--settings %s: %s has %s%s",
				     setting->name, agent_text(agent, "name"),
				     names[0] ? "these: " : "none", names);
	}
	if (!setting->read_only)
		return 0;
	if (agent_settings_is_json(setting))
		return options_usage(err,
				     "--settings %s: it can only be copied, "
				     "without what may be a credential in it",
				     setting->name);
	if (notice && !strcmp(notice, setting->path))
		return options_usage(err,
				     "--settings %s: it can only be copied, "
				     "for bawn adds its notice to it",
				     setting->name);
	return 0;
}

int agent_settings_next(const json_t *agent, const char **at,
			struct agent_setting *setting, struct error *err)
{
	const char *word = *at;
	size_t len = strcspn(word, ",");
	size_t suffix = strlen(READ_ONLY);

	if (!*word)
		return 0;
	*at = word + len + (word[len] == ',');
	*setting = (struct agent_setting){ .path = NULL };
	if (len > suffix && !strncmp(word + len - suffix, READ_ONLY, suffix)) {
		setting->read_only = true;
		len -= suffix;
	}
	if (!len || len > AGENT_SETTINGS_NAME_MAX)
		return options_usage(err, "--settings takes names");
	memcpy(setting->name, word, len);
	return find(agent, setting, err) < 0 ? -1 : 1;
}

bool agent_settings_is_json(const struct agent_setting *setting)
{
	return text_ends(setting->path, ".json");
}

/* By its name: commands that print a key, and places where keys are put. */
static bool may_hold_credential(const char *key)
{
	static const char *const words[] = {
		"token",  "secret",     "apikey",  "api_key", "api-key",
		"passwd", "password",   "helper",  "auth",    "credential",
		"cookie", "privatekey", "headers", "_key",    "accesskey",
	};

	if (!strcasecmp(key, "env") || !strcasecmp(key, "environment"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(key, words[i]))
			return true;
	return false;
}

static void filter(json_t *json, unsigned depth)
{
	const char *key;
	json_t *value;
	void *next;
	size_t i;

	if (json_is_array(json)) {
		if (depth >= DEPTH_MAX)
			json_array_clear(json);
		json_array_foreach(json, i, value) filter(value, depth + 1);
	}
	if (!json_is_object(json))
		return;
	if (depth >= DEPTH_MAX)
		json_object_clear(json);
	json_object_foreach_safe(json, next, key, value)
	{
		if (may_hold_credential(key))
			json_object_del(json, key);
		else
			filter(value, depth + 1);
	}
}

void agent_settings_filter(json_t *settings)
{
	filter(settings, 0);
}
