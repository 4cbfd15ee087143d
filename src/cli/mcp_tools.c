/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tools.c - the tools, and how their arguments become a command line
 */
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/mcp.h"
#include "state/sandbox_record.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PARAMS(...) \
	((const struct mcp_param[]){ __VA_ARGS__, { .name = NULL } })
#define NAME_PARAM                                                        \
	{                                                                 \
		"name", MCP_NAME, true, NULL, NULL, "name of the sandbox" \
	}
#define PATH_PARAM(what)                                   \
	{                                                  \
		"path", MCP_FOLDER, true, NULL, NULL, what \
	}

/* clang-format off */
const struct mcp_tool mcp_tools[] = {
	{ "sandbox_list", "List the sandboxes of this host as JSON.",
	  false, false, WORDS("ls", "--json"), PARAMS({ .name = NULL }) },
	{ "sandbox_inspect", "Tell everything about a sandbox, as JSON.",
	  false, false, WORDS("inspect"), PARAMS(NAME_PARAM) },
	{ "sandbox_create",
	  "Make and start a sandbox with its own kernel for a folder of this host, "
	  "which it sees at the same path. Returns its name.",
	  true, false, WORDS("create"),
	  PARAMS({ "name", MCP_NAME, false, "--name", NULL,
		   "name of the new sandbox; made up when left out" },
		 { "template", MCP_TEXT, false, "--template", NULL,
		   "template or image; the agent's own when left out" },
		 { "mode", MCP_TEXT, false, "--workspace-mode", NULL,
		   "direct (both sides see changes at once), overlay or clone" },
		 { "policy", MCP_TEXT, false, "--policy", NULL,
		   "network policy: balanced, deny-all or allow-all" },
		 { "memory", MCP_TEXT, false, "--memory", NULL, "such as 2G" },
		 { "cpus", MCP_TEXT, false, "--cpus", NULL, "how many CPUs" },
		 { "agent", MCP_TEXT, false, NULL, "shell", "agent; shell when left out" },
		 PATH_PARAM("absolute path of the folder")) },
	{ "sandbox_exec",
	  "Run a shell script in a sandbox, which is started if need be. Returns its "
	  "output and exit code.",
	  true, false, WORDS("exec"),
	  PARAMS({ "user", MCP_TEXT, false, "--user", NULL, "user in the sandbox; agent when left out" },
		 { "folder", MCP_FOLDER, false, "--workdir", NULL,
		   "folder to start in; the workspace when left out" },
		 NAME_PARAM,
		 { "", MCP_TEXT, false, NULL, "sh", "" },
		 { "", MCP_TEXT, false, NULL, "-c", "" },
		 { "script", MCP_TEXT, true, NULL, NULL, "script for sh" }) },
	{ "sandbox_read_file", "Read a file of a sandbox.",
	  false, false, WORDS("exec"),
	  PARAMS(NAME_PARAM,
		 { "", MCP_TEXT, false, NULL, "cat", "" },
		 { "", MCP_TEXT, false, NULL, "--", "" },
		 PATH_PARAM("absolute path in the sandbox")) },
	{ "sandbox_write_file", "Write a file of a sandbox, replacing what is there.",
	  true, true, WORDS("exec", "--interactive"),
	  PARAMS(NAME_PARAM,
		 { "", MCP_TEXT, false, NULL, "sh", "" },
		 { "", MCP_TEXT, false, NULL, "-c", "" },
		 { "", MCP_TEXT, false, NULL, "cat > \"$1\"", "" },
		 { "", MCP_TEXT, false, NULL, "sh", "" },
		 PATH_PARAM("absolute path in the sandbox"),
		 { "text", MCP_STDIN, true, NULL, NULL, "the new content" }) },
	{ "sandbox_diff", "Show what a sandbox in overlay mode changed.",
	  false, false, WORDS("diff"), PARAMS(NAME_PARAM) },
	{ "sandbox_network_log",
	  "Show where a sandbox connected to, and where it was not let, as JSON.",
	  false, false, WORDS("policy", "log", "--json"), PARAMS(NAME_PARAM) },
	{ "sandbox_checkpoint",
	  "Keep memory, programs and disk of a sandbox as they are now. Returns the label.",
	  true, false, WORDS("checkpoint"),
	  PARAMS(NAME_PARAM, { "label", MCP_NAME, false, NULL, NULL,
			       "label; the time when left out" }) },
	{ "sandbox_restore", "Let a sandbox go back to a checkpoint.",
	  true, true, WORDS("restore"),
	  PARAMS(NAME_PARAM, { "label", MCP_NAME, true, NULL, NULL, "label of the checkpoint" }) },
	{ "sandbox_save",
	  "Make a template of a sandbox's disk, without shared folders and secrets. Returns its name.",
	  true, false, WORDS("save"),
	  PARAMS(NAME_PARAM, { "tag", MCP_NAME, true, NULL, NULL, "NAME:TAG of the template" }) },
	{ "sandbox_stop", "Stop a sandbox; it is kept.",
	  true, true, WORDS("stop"), PARAMS(NAME_PARAM) },
	{ "sandbox_remove", "Remove a sandbox with everything on its disk.",
	  true, true, WORDS("rm", "--force"), PARAMS(NAME_PARAM) },
	{ .name = NULL },
};
/* clang-format on */

const struct mcp_tool *mcp_tool_find(const char *name, bool read_only)
{
	for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
		if (!strcmp(tool->name, name))
			return read_only && tool->changes ? NULL : tool;
	return NULL;
}

/* A row without a name is a word of the command itself. */
static bool is_word(const struct mcp_param *param)
{
	return param->name[0] == '\0';
}

json_t *mcp_tool_describe(const struct mcp_tool *tool)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct mcp_param *param = tool->params; param->name;
	     param++) {
		if (is_word(param))
			continue;
		json_object_set_new(properties, param->name,
				    json_pack("{s:s, s:s}", "type", "string",
					      "description", param->help));
		if (param->required)
			json_array_append_new(required,
					      json_string(param->name));
	}
	return json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b}}", "name",
			 tool->name, "description", tool->help, "inputSchema",
			 "type", "object", "properties", properties, "required",
			 required, "additionalProperties", 0, "annotations",
			 "readOnlyHint", !tool->changes);
}

static int check_known(const struct mcp_tool *tool, const json_t *arguments,
		       struct error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)arguments, key, value)
	{
		const struct mcp_param *param = tool->params;

		while (param->name && strcmp(param->name, key))
			param++;
		if (!param->name || is_word(param))
			return error_set(err, 0, "%s has no argument %.40s",
					 tool->name, key);
		if (!json_is_string(value) ||
		    strlen(json_string_value(value)) !=
			    json_string_length(value))
			return error_set(err, 0, "%s: not a text", key);
	}
	return 0;
}

static int check_value(const struct mcp_param *param, const char *value,
		       struct error *err)
{
	if (param->kind == MCP_NAME && sandbox_name_check(value, err) < 0)
		return error_prefix(err, "%s", param->name);
	if (param->kind == MCP_FOLDER && value[0] != '/')
		return error_set(err, 0, "%s: not an absolute path",
				 param->name);
	/* a word that begins with a dash would be an option */
	if (param->kind == MCP_TEXT && !param->option && param->fallback &&
	    value[0] == '-')
		return error_set(err, 0, "%s: begins with a dash", param->name);
	return 0;
}

static int add(struct mcp_order *order, const char *word, struct error *err)
{
	if (order->argc == MCP_ARGV_MAX)
		return error_set(err, 0, "too many words");
	order->argv[order->argc++] = word;
	order->argv[order->argc] = NULL;
	return 0;
}

static int add_param(const struct mcp_param *param, const json_t *arguments,
		     struct mcp_order *order, struct error *err)
{
	const char *value = is_word(param) ? NULL
					   : json_string_value(json_object_get(
						     arguments, param->name));

	if (!value && param->required)
		return error_set(err, 0, "%s is missing", param->name);
	if (!value)
		return param->fallback ? add(order, param->fallback, err) : 0;
	if (check_value(param, value, err) < 0)
		return -1;
	if (param->kind == MCP_STDIN) {
		order->input = value;
		return 0;
	}
	if (param->option && add(order, param->option, err) < 0)
		return -1;
	return add(order, value, err);
}

int mcp_order_make(const struct mcp_tool *tool, const json_t *arguments,
		   struct mcp_order *order, struct error *err)
{
	*order = (struct mcp_order){ 0 };
	if (arguments && !json_is_object(arguments))
		return error_set(err, 0, "arguments: not an object");
	if (check_known(tool, arguments, err) < 0 ||
	    add(order, "bawn", err) < 0)
		return -1;
	for (size_t i = 0; tool->words[i]; i++)
		if (add(order, tool->words[i], err) < 0)
			return -1;
	for (const struct mcp_param *param = tool->params; param->name; param++)
		if (add_param(param, arguments, order, err) < 0)
			return -1;
	return 0;
}
