/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_services.c - unit tests of state/services.h
 */
#include "state/services.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

AUTO_DEFINE(json, json_t *, json_decref)

#define SERVICE(name, more)                                               \
	"{\"name\": \"" name "\", \"hosts\": [\"h.test\"], \"headers\": " \
	"[{\"name\": \"x-key\", \"format\": \"%s\"}], \"variables\": "    \
	"[\"V_" name "\"], \"placeholder\": {\"prefix\": \"p-\", "        \
	"\"length\": 32}" more "}"
#define FILE_OF(services) "{\"services\": [" services "]}"

static json_t *parse(const char *text)
{
	return services_parse(text, strlen(text), NULL);
}

static const char *const bad[] = {
	"",
	"[]",
	"{}",
	"{\"services\": {}}",
	"{\"services\": [], \"more\": 1}",
	FILE_OF("{}"),
	FILE_OF(SERVICE("Upper", "")),
	FILE_OF(SERVICE("", "")),
	FILE_OF(SERVICE("-a", "")),
	FILE_OF(SERVICE("a b", "")),
	FILE_OF(SERVICE("a", ", \"more\": 1")),
	FILE_OF(SERVICE("a", ", \"paths\": [\"/a b\"]")),
	FILE_OF(SERVICE("a", ", \"paths\": [\"/a\\nallow\"]")),
	FILE_OF(SERVICE("a", ", \"methods\": \"GET\"")),
	/* headers and formats that are none */
	FILE_OF("{\"name\": \"a\", \"hosts\": [\"h\"], \"headers\": [], "
		"\"variables\": [], \"placeholder\": {\"prefix\": \"\", "
		"\"length\": 32}}"),
	FILE_OF("{\"name\": \"a\", \"hosts\": [], \"headers\": [{\"name\": "
		"\"x\", \"format\": \"%s\"}], \"variables\": [], "
		"\"placeholder\": {\"prefix\": \"\", \"length\": 32}}"),
	/* what is random must not be guessed */
	FILE_OF("{\"name\": \"a\", \"hosts\": [\"h\"], \"headers\": "
		"[{\"name\": \"x\", \"format\": \"%s\"}], \"variables\": [], "
		"\"placeholder\": {\"prefix\": \"abc\", \"length\": 18}}"),
	FILE_OF("{\"name\": \"a\", \"hosts\": [\"h\"], \"headers\": "
		"[{\"name\": \"x\", \"format\": \"%s\"}], \"variables\": [], "
		"\"placeholder\": {\"prefix\": \"\", \"length\": 257}}"),
	FILE_OF("{\"name\": \"a\", \"hosts\": [\"h\"], \"headers\": "
		"[{\"name\": \"x\", \"format\": \"%s\"}], \"variables\": [], "
		"\"placeholder\": {\"prefix\": \"a b\", \"length\": 40}}"),
};

static void what_is_no_list_of_services_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(json) json_t *list = parse(bad[i]);

		if (list)
			printf("# taken: %s\n", bad[i]);
		CHECK(!list);
	}
}

static bool header_is_good(const char *name, const char *format)
{
	AUTO(json)
	json_t *header =
		json_pack("{s:s, s:s}", "name", name, "format", format);

	return service_check_header(header, NULL) == 0;
}

static void a_format_has_one_hole(void)
{
	CHECK(header_is_good("authorization", "Bearer %s"));
	CHECK(header_is_good("authorization", "Basic base64(user:%s)"));
	CHECK(!header_is_good("authorization", "Bearer"));
	CHECK(!header_is_good("authorization", "%s%s"));
	CHECK(!header_is_good("authorization", "%d %s"));
	CHECK(!header_is_good("authorization", "%s %n"));
	CHECK(!header_is_good("authorization", "a\r\nb: %s"));
	CHECK(!header_is_good("authorization", "Basic base64(user:%s) x"));
	CHECK(!header_is_good("authorization", "%s base64()"));
	CHECK(!header_is_good("a b", "%s"));
	CHECK(!header_is_good("a:", "%s"));
	CHECK(!header_is_good("", "%s"));
}

static void a_file_cut_anywhere_is_refused(void)
{
	const char *text = FILE_OF(SERVICE("a", "") ", " SERVICE("b", ""));

	for (size_t len = 0; len < strlen(text); len++) {
		AUTO(json) json_t *list = services_parse(text, len, NULL);

		CHECK(!list);
	}
}

static void the_users_files_replace_and_add(void)
{
	char top[] = "/tmp/bawn-services-XXXXXX";
	char file[64], folder[64];
	AUTO_CLOSE int fd = -1;
	const char *mine = FILE_OF(SERVICE("a", ", \"paths\": [\"/v1/**\"]"));
	const char *other = FILE_OF(SERVICE("c", ""));
	const char *base = FILE_OF(SERVICE("a", "") ", " SERVICE("b", ""));
	AUTO(json) json_t *list = NULL;
	struct error err = { 0 };

	REQUIRE(mkdtemp(top));
	fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(file, sizeof(file), "%s/services.json", top);
	snprintf(folder, sizeof(folder), "%s/services.d", top);
	CHECK(fileio_replace(fd, "services.json", base, strlen(base), 0600, 0,
			     NULL) == 0);
	list = services_load_from(file, folder, &err);
	CHECK(list && json_array_size(list) == 2);
	json_decref(list);
	CHECK(mkdirat(fd, "services.d", 0700) == 0);
	CHECK(fileio_replace(fd, "services.d/1.json", mine, strlen(mine), 0600,
			     0, NULL) == 0);
	CHECK(fileio_replace(fd, "services.d/2.json", other, strlen(other),
			     0600, 0, NULL) == 0);
	CHECK(fileio_replace(fd, "services.d/notes.txt", "?", 1, 0600, 0,
			     NULL) == 0);
	list = services_load_from(file, folder, &err);
	REQUIRE(list);
	CHECK(json_array_size(list) == 3 && services_find(list, "c"));
	CHECK(json_object_get(services_find(list, "a"), "paths"));
	CHECK(services_of_variable(list, "V_b") == services_find(list, "b"));
	CHECK(!services_of_variable(list, "V_x") && !services_find(list, "x"));
	CHECK(fileio_replace(fd, "services.d/3.json", "{", 1, 0600, 0, NULL) ==
	      0);
	CHECK(!services_load_from(file, folder, &err));
	CHECK(strstr(err.text, "3.json"));
	CHECK(fileio_remove_tree(AT_FDCWD, top, NULL) == 0);
}

static void the_built_in_ones_are_as_promised(void)
{
	static const char *const names[] = {
		"anthropic", "openai",  "google", "github", "cursor",
		"copilot",   "mistral", "groq",   "xai",    "openrouter",
	};
	AUTO(json)
	json_t *list = services_load_from(SERVICES_PATH, "/nonexistent", NULL);

	REQUIRE(list);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK(services_find(list, names[i]));
	CHECK(services_of_variable(list, "ANTHROPIC_API_KEY") ==
	      services_find(list, "anthropic"));
	CHECK(services_of_variable(list, "CLAUDE_CODE_OAUTH_TOKEN"));
	CHECK(services_has_agent(services_find(list, "openai"), "codex"));
	CHECK(!services_has_agent(services_find(list, "openai"), "claude"));
	CHECK(!services_has_agent(services_find(list, "groq"), "shell"));
}

int main(void)
{
	RUN(what_is_no_list_of_services_is_refused);
	RUN(a_format_has_one_hole);
	RUN(a_file_cut_anywhere_is_refused);
	RUN(the_users_files_replace_and_add);
	RUN(the_built_in_ones_are_as_promised);
	return DONE();
}
