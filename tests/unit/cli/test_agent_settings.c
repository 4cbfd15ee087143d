/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_settings.c - unit tests of cli/agent_settings.h
 */
#include "cli/agent_settings.h"

#include "base/error.h"
#include "lib/tap.h"

static json_t *agent(void)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "name", "claude",
			 "notice", ".claude/CLAUDE.md", "settings", "skills",
			 ".claude/skills", "settings.json",
			 ".claude/settings.json", "CLAUDE.md",
			 ".claude/CLAUDE.md");
}

static void names_are_those_of_the_table(void)
{
	json_t *table = agent();
	struct agent_setting one;
	struct error err = { 0 };
	const char *at = "skills:ro,CLAUDE.md";

	CHECK(agent_settings_next(table, &at, &one, &err) == 1);
	CHECK(!strcmp(one.name, "skills") && one.read_only);
	CHECK(!strcmp(one.path, ".claude/skills"));
	CHECK(agent_settings_next(table, &at, &one, &err) == 1);
	CHECK(!strcmp(one.path, ".claude/CLAUDE.md") && !one.read_only);
	CHECK(agent_settings_next(table, &at, &one, &err) == 0);
	json_decref(table);
}

static int refused(const char *words, const char *says)
{
	json_t *table = agent();
	struct agent_setting one;
	struct error err = { 0 };
	int got = agent_settings_next(table, &words, &one, &err);

	json_decref(table);
	return got < 0 && strstr(err.text, says) != NULL;
}

static void nothing_else_comes_in(void)
{
	CHECK(refused(".credentials.json", "skills, settings.json"));
	CHECK(refused("../.ssh", "these:"));
	CHECK(refused(",", "names"));
	CHECK(refused(":ro", "these:") || refused(":ro", "names"));
	CHECK(refused("settings.json:ro", "copied"));
	CHECK(refused("CLAUDE.md:ro", "notice"));
}

static void credentials_are_left_out_at_any_depth(void)
{
	json_t *json = json_loads(
		"{\"model\": \"x\", \"env\": {\"A\": 1}, \"apiKeyHelper\": "
		"\"c\","
		"\"permissions\": {\"deny\": [\"Read(.env)\"]},"
		"\"mcpServers\": {\"s\": {\"command\": \"c\", \"env\": {\"K\": "
		"\"v\"}, \"headers\": {\"Authorization\": \"b\"}}},"
		"\"list\": [{\"token\": \"t\", \"keep\": 1}]}",
		0, NULL);
	char *text;

	agent_settings_filter(json);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	CHECK(!strcmp(text, "{\"list\":[{\"keep\":1}],"
			    "\"mcpServers\":{\"s\":{\"command\":\"c\"}},"
			    "\"model\":\"x\","
			    "\"permissions\":{\"deny\":[\"Read(.env)\"]}}"));
	free(text);
	json_decref(json);
}

static void depth_is_bounded(void)
{
	json_t *json = json_string("deep");
	const json_t *at;
	int depth = 0;

	for (int i = 0; i < 200; i++)
		json = json_pack("{s:o}", "a", json);
	at = json;
	agent_settings_filter(json);
	while (json_object_get(at, "a")) {
		at = json_object_get(at, "a");
		depth++;
	}
	CHECK(depth > 10 && depth < 40);
	json_decref(json);
}

int main(void)
{
	RUN(names_are_those_of_the_table);
	RUN(nothing_else_comes_in);
	RUN(credentials_are_left_out_at_any_depth);
	RUN(depth_is_bounded);
	return DONE();
}
