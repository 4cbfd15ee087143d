/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agents.c - unit tests of state/agents.h
 */
#include "state/agents.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

AUTO_DEFINE(json, json_t *, json_decref)

#define AGENT(name, more)                                                   \
	"{\"name\": \"" name "\", \"template\": \"base\", \"interactive\":" \
	" [\"" name "\", \"-y\"], \"once\": [\"" name "\", \"-p\"], "       \
	"\"output\": \"text\", \"variables\": [], \"environment\": {}" more \
	"}"
#define FILE_OF(agents) "{\"agents\": [" agents "]}"

static json_t *parse(const char *text)
{
	return agents_parse(text, strlen(text), NULL);
}

static const char *const bad[] = {
	"",
	"[]",
	"{}",
	"{\"agents\": {}}",
	"{\"agents\": [], \"more\": 1}",
	FILE_OF("{}"),
	FILE_OF("1"),
	FILE_OF(AGENT("Upper", "")),
	FILE_OF(AGENT("", "")),
	FILE_OF(AGENT("-a", "")),
	FILE_OF(AGENT("a-", "")),
	FILE_OF(AGENT("a.b", "")),
	FILE_OF(AGENT("a", ", \"more\": 1")),
	FILE_OF(AGENT("a", ", \"resume\": []")),
	FILE_OF(AGENT("a", ", \"resume\": [\"\"]")),
	FILE_OF(AGENT("a", ", \"resume\": \"a\"")),
	FILE_OF(AGENT("a", ", \"resume\": [\"a\", 1]")),
	FILE_OF(AGENT("a", ", \"resume\": [\"a\\u0000b\"]")),
	FILE_OF(AGENT("a", ", \"aliases\": [\"A\"]")),
	FILE_OF(AGENT("a", ", \"word_is_program\": 1")),
	/* a word has one meaning */
	FILE_OF(AGENT("a", "") ", " AGENT("a", "")),
	FILE_OF(AGENT("a", ", \"aliases\": [\"b\"]") ", " AGENT("b", "")),
	FILE_OF(AGENT("a", ", \"aliases\": [\"c\"]") ", " AGENT(
		"b", ", \"aliases\": [\"c\"]")),
	/* nothing outside the home */
	FILE_OF(AGENT("a", ", \"notice\": \"/etc/x\"")),
	FILE_OF(AGENT("a", ", \"notice\": \"../x\"")),
	FILE_OF(AGENT("a", ", \"notice\": \"a/../../x\"")),
	FILE_OF(AGENT("a", ", \"notice\": \"a//x\"")),
	FILE_OF(AGENT("a", ", \"notice\": \"a/\"")),
	FILE_OF(AGENT("a", ", \"notice\": \"\"")),
	FILE_OF(AGENT("a", ", \"seeds\": [{\"path\": \"/x\", \"json\": {}}]")),
	FILE_OF(AGENT("a", ", \"seeds\": [{\"path\": \"x\"}]")),
	FILE_OF(AGENT("a", ", \"seeds\": [{\"path\": \"x\", \"json\": 1}]")),
	FILE_OF(AGENT("a", ", \"seeds\": [{\"path\": \"x\", \"json\": {}, "
			   "\"text\": \"\"}]")),
	/* logins are no settings, wherever they lie */
	FILE_OF(AGENT("a", ", \"settings\": {\"x\": \"../x/y\"}")),
	FILE_OF(AGENT("a", ", \"settings\": {\"x\": \".a\"}")),
	FILE_OF(AGENT("a", ", \"settings\": {\"x\": 1}")),
	FILE_OF(AGENT("a", ", \"settings\": {\"x:ro\": \".a/b\"}")),
	FILE_OF(AGENT("a", ", \"settings\": {\"x\": \".a/auth.json\"}")),
	FILE_OF(AGENT("a", ", \"settings\": {\"x\": \".ssh/config\"}")),
	FILE_OF(AGENT("a", ", \"settings\": {\"x\": "
			   "\".claude/.Credentials.json\"}")),
	/* outputs and variables that are none */
	"{\"agents\": [{\"name\": \"a\", \"template\": \"base\", "
	"\"interactive\": [\"a\"], \"once\": [\"a\"], \"output\": \"xml\", "
	"\"variables\": [], \"environment\": {}}]}",
	"{\"agents\": [{\"name\": \"a\", \"template\": \"base\", "
	"\"interactive\": [\"a\"], \"once\": [\"a\"], \"output\": \"text\", "
	"\"variables\": [\"A=B\"], \"environment\": {}}]}",
	"{\"agents\": [{\"name\": \"a\", \"template\": \"base\", "
	"\"interactive\": [\"a\"], \"once\": [\"a\"], \"output\": \"text\", "
	"\"variables\": [], \"environment\": {\"A=B\": \"\"}}]}",
	"{\"agents\": [{\"name\": \"a\", \"template\": \"\", "
	"\"interactive\": [\"a\"], \"once\": [\"a\"], \"output\": \"text\", "
	"\"variables\": [], \"environment\": {}}]}",
};

static void what_is_no_list_of_agents_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(json) json_t *list = parse(bad[i]);

		if (list)
			printf("# taken: %s\n", bad[i]);
		CHECK(!list);
	}
}

static void a_file_cut_anywhere_is_refused(void)
{
	const char *text = FILE_OF(AGENT("a", "") ", " AGENT("b", ""));
	AUTO(json) json_t *whole = parse(text);

	CHECK(whole);
	for (size_t len = 0; len < strlen(text); len++) {
		AUTO(json) json_t *list = agents_parse(text, len, NULL);

		CHECK(!list);
	}
}

static void the_error_says_which_and_what(void)
{
	const char *text =
		FILE_OF(AGENT("a", "") ", " AGENT("b", ", \"resume\": [\"\"]"));
	struct error err = { 0 };

	CHECK(!agents_parse(text, strlen(text), &err));
	CHECK(strcmp(err.text, "agent 2: resume: no program") == 0);
}

static void put(int folder, const char *name, const char *text)
{
	CHECK(fileio_replace(folder, name, text, strlen(text), 0600, 0, NULL) ==
	      0);
}

static void the_users_files_replace_and_add(void)
{
	char top[] = "/tmp/bawn-agents-XXXXXX";
	char file[64], folder[64];
	AUTO_CLOSE int fd = -1;
	AUTO(json) json_t *list = NULL;
	struct error err = { 0 };

	REQUIRE(mkdtemp(top));
	fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(file, sizeof(file), "%s/agents.json", top);
	snprintf(folder, sizeof(folder), "%s/agents.d", top);
	put(fd, "agents.json", FILE_OF(AGENT("a", "") ", " AGENT("b", "")));
	list = agents_load_from(file, folder, &err);
	CHECK(list && json_array_size(list) == 2);
	json_decref(list);
	CHECK(mkdirat(fd, "agents.d", 0700) == 0);
	put(fd, "agents.d/1.json",
	    FILE_OF(AGENT("a", ", \"aliases\": [\"aa\"]")));
	put(fd, "agents.d/2.json", FILE_OF(AGENT("c", "")));
	put(fd, "agents.d/notes.txt", "?");
	list = agents_load_from(file, folder, &err);
	REQUIRE(list);
	CHECK(json_array_size(list) == 3 && agents_find(list, "c"));
	CHECK(agents_find(list, "aa") == agents_find(list, "a"));
	CHECK(agents_find(list, "a") && !agents_find(list, "x"));
	put(fd, "agents.d/3.json",
	    FILE_OF(AGENT("d", ", \"aliases\": [\"b\"]")));
	CHECK(!agents_load_from(file, folder, &err));
	CHECK(strstr(err.text, "two agents"));
	put(fd, "agents.d/3.json", "{");
	CHECK(!agents_load_from(file, folder, &err));
	CHECK(strstr(err.text, "3.json"));
	CHECK(fileio_remove_tree(AT_FDCWD, top, NULL) == 0);
}

static bool is(const json_t *agent, enum agent_form form,
	       const char *const *args, const char *expected)
{
	AUTO_FREE const char **argv = agent_argv(agent, form, args);
	char joined[256] = "";
	size_t len = 0;

	if (!argv)
		return !*expected;
	for (size_t i = 0; argv[i]; i++)
		len += (size_t)snprintf(joined + len, sizeof(joined) - len,
					"%s%s", i ? " " : "", argv[i]);
	if (strcmp(joined, expected))
		printf("# %s\n", joined);
	return !strcmp(joined, expected);
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void arguments_follow_or_replace_the_flags(void)
{
	AUTO(json)
	json_t *list = agents_load_from(AGENTS_PATH, "/nonexistent", NULL);
	const json_t *claude = agents_find(list, "claude-code");
	const json_t *shell = agents_find(list, "shell");

	REQUIRE(claude && shell);
	CHECK(is(claude, AGENT_INTERACTIVE, NULL,
		 "claude --dangerously-skip-permissions"));
	CHECK(is(claude, AGENT_INTERACTIVE, ARGS("-p", "hi"),
		 "claude --dangerously-skip-permissions -p hi"));
	CHECK(is(claude, AGENT_INTERACTIVE, ARGS("mcp", "list"),
		 "claude mcp list"));
	CHECK(is(claude, AGENT_FALLBACK, NULL, ""));
	CHECK(is(shell, AGENT_INTERACTIVE, NULL, "bash -l"));
	CHECK(is(shell, AGENT_INTERACTIVE, ARGS(NULL), "bash -l"));
	CHECK(is(shell, AGENT_INTERACTIVE, ARGS("-c", "true"),
		 "bash -l -c true"));
	CHECK(is(shell, AGENT_FALLBACK, ARGS("-c", "x"), "/bin/sh -l -c x"));
	CHECK(is(shell, AGENT_INTERACTIVE, ARGS("uname", "-s"), "uname -s"));
	CHECK(is(shell, AGENT_FALLBACK, ARGS("uname", "-s"), ""));
	CHECK(is(shell, AGENT_RESUME, NULL, ""));
}

static void the_built_in_ones_are_as_promised(void)
{
	static const char *const words[][2] = {
		{ "claude", "claude-code" }, { "codex", "codex" },
		{ "gemini", "gemini" },      { "copilot", "copilot" },
		{ "opencode", "opencode" },  { "cursor", "cursor-agent" },
		{ "kiro", "kiro-cli" },      { "docker-agent", "cagent" },
		{ "shell", "shell" },
	};
	AUTO(json)
	json_t *list = agents_load_from(AGENTS_PATH, "/nonexistent", NULL);

	REQUIRE(list);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const json_t *agent = agents_find(list, words[i][0]);

		CHECK(agent && agent == agents_find(list, words[i][1]));
	}
	CHECK(json_array_size(list) == ARRAY_SIZE(words));
	CHECK(agent_output_of(agents_find(list, "claude")) ==
	      AGENT_OUTPUT_CLAUDE);
	CHECK(agent_output_of(agents_find(list, "codex")) ==
	      AGENT_OUTPUT_CODEX);
	CHECK(agent_output_of(agents_find(list, "shell")) == AGENT_OUTPUT_TEXT);
}

int main(void)
{
	RUN(what_is_no_list_of_agents_is_refused);
	RUN(a_file_cut_anywhere_is_refused);
	RUN(the_error_says_which_and_what);
	RUN(the_users_files_replace_and_add);
	RUN(arguments_follow_or_replace_the_flags);
	RUN(the_built_in_ones_are_as_promised);
	return DONE();
}
