/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_secret_store.c - unit tests of state/secret_store.h and
 * state/secret_bindings.h
 */
#include "state/secret_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"
#include "state/secret_bindings.h"
#include "state/services.h"

AUTO_DEFINE(json, json_t *, json_decref)

#define STORE(secrets)                                  \
	"{\"version\": 1, \"secrets\": [" secrets "], " \
	"\"placeholders\": {\"a\": \"placeholder-0123456789\"}}"
#define SECRET(name, more) "{\"name\": \"" name "\", \"set\": 1, " more "}"

static json_t *parse(const char *text)
{
	return secret_store_parse(text, strlen(text), NULL);
}

static const char *const bad[] = {
	"",
	"[]",
	"{}",
	"{\"version\": 1}",
	"{\"version\": 2, \"secrets\": [], \"placeholders\": {}}",
	"{\"version\": 1, \"secrets\": [], \"placeholders\": {\"a\": 1}}",
	"{\"version\": 1, \"secrets\": [], \"placeholders\": {\"a\": \"x\"}}",
	STORE("1"),
	STORE(SECRET("a", "\"more\": 1")),
	STORE(SECRET("a", "\"value\": \"x\", \"command\": \"y\"")),
	STORE(SECRET("a", "\"value\": \"\"")),
	STORE(SECRET("a", "\"value\": \"x\\ny\"")),
	STORE(SECRET("a", "\"value\": \"x\\n\"")),
	STORE(SECRET("a", "\"value\": \"x y\"")),
	STORE(SECRET("a", "\"value\": \"x\\u00e4\"")),
	STORE(SECRET("A", "\"value\": \"x\"")),
	STORE(SECRET("a/b", "\"value\": \"x\"")),
	STORE(SECRET("a", "\"command\": \"\"")),
	STORE(SECRET("a", "\"command\": \"x\", \"cache_s\": 0")),
	STORE(SECRET("a", "\"value\": \"x\", \"headers\": []")),
	STORE(SECRET("a", "\"value\": \"x\", \"hosts\": [\"a b\"]")),
	STORE(SECRET("a", "\"value\": \"x\"") ", " SECRET("a", "\"value\": "
							       "\"y\"")),
};

static void what_is_no_store_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(json) json_t *store = parse(bad[i]);

		if (store)
			printf("# taken: %s\n", bad[i]);
		CHECK(!store);
	}
}

static void a_store_cut_anywhere_is_refused(void)
{
	const char *text = STORE(SECRET("a", "\"value\": \"v\""));

	for (size_t len = 0; len < strlen(text); len++) {
		AUTO(json) json_t *store = secret_store_parse(text, len, NULL);

		CHECK(!store);
	}
}

static void a_value_loses_the_line_feeds_at_its_end_alone(void)
{
	size_t len = 5;

	CHECK(secret_store_check_value("abc\r\n", &len, NULL) == 0 && len == 3);
	len = 2;
	CHECK(secret_store_check_value("\n\n", &len, NULL) < 0);
	len = 3;
	CHECK(secret_store_check_value("a\nb", &len, NULL) < 0);
	len = 3;
	CHECK(secret_store_check_value("a\0b", &len, NULL) < 0);
}

static void a_file_is_ours_alone_or_not_read(void)
{
	char top[] = "/tmp/bawn-secrets-XXXXXX";
	AUTO_CLOSE int folder = -1;
	AUTO(json) json_t *store = NULL;
	struct error err = { 0 };
	struct stat st;

	REQUIRE(mkdtemp(top));
	folder = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = secret_store_load(folder, "global", &err);
	REQUIRE(store);
	CHECK(secret_store_put(store,
			       json_pack("{s:s, s:i, s:s}", "name", "a", "set",
					 1, "value", "v1"),
			       &err) == 0);
	CHECK(secret_store_put(store,
			       json_pack("{s:s, s:i, s:s}", "name", "a", "set",
					 1, "value", "v2"),
			       &err) == 0);
	CHECK(secret_store_put(store, json_pack("{s:s}", "name", "a"), &err) <
	      0);
	CHECK(secret_store_save(folder, "global", store, &err) == 0);
	CHECK(fstatat(folder, "global.json", &st, 0) == 0 &&
	      (st.st_mode & 0777) == 0600);
	json_decref(store);
	store = secret_store_load(folder, "global", &err);
	REQUIRE(store);
	CHECK(!strcmp(json_string_value(json_object_get(
			      secret_store_find(store, "a"), "value")),
		      "v2"));
	CHECK(fchmodat(folder, "global.json", 0640, 0) == 0);
	CHECK(!secret_store_load(folder, "global", &err));
	CHECK(strstr(err.text, "chmod 600") && !strstr(err.text, "v2"));
	CHECK(!secret_store_load(folder, "../global", &err));
	CHECK(!secret_store_load(folder, "", &err));
	CHECK(secret_store_remove(store, "a") == 1);
	CHECK(secret_store_remove(store, "a") == 0);
	CHECK(secret_store_save(folder, "global", store, &err) == 0);
	CHECK(fstatat(folder, "global.json", &st, 0) < 0);
	CHECK(fileio_remove_tree(AT_FDCWD, top, NULL) == 0);
}

static const char service_text[] =
	"{\"services\": [{\"name\": \"a\", \"hosts\": [\"h.test\"], "
	"\"headers\": [{\"name\": \"x-key\", \"format\": \"%s\"}], "
	"\"variables\": [\"A_KEY\"], \"placeholder\": {\"prefix\": \"p-\", "
	"\"length\": 32}, \"paths\": [\"/user\"], \"repo_paths\": "
	"[\"/repos/%s/**\"]}]}";

static const char *text_of(const json_t *binding, const char *key)
{
	const char *text = json_string_value(json_object_get(binding, key));

	return text ? text : "";
}

static void the_nearest_scope_wins(void)
{
	AUTO(json)
	json_t *services =
		services_parse(service_text, strlen(service_text), NULL);
	AUTO(json)
	json_t *all = parse("{\"version\": 1, \"secrets\": [" SECRET(
		"a",
		"\"value\": \"all\"") ", " SECRET("b",
						  "\"value\": \"b\"") "], "
								      "\"placeh"
								      "olders\""
								      ": {}}");
	AUTO(json)
	json_t *own = parse(
		STORE(SECRET("a", "\"value\": \"own\", \"repos\": [\"o/n\"]")));
	AUTO(json)
	json_t *session =
		json_pack("[{s:s, s:s}]", "name", "a", "value", "now");
	AUTO(json) json_t *list = NULL;

	REQUIRE(services && all && own);
	list = secret_bindings_make(services, all, own, NULL);
	/* b has no service, and does not say where it goes */
	REQUIRE(json_array_size(list) == 1);
	CHECK(!strcmp(text_of(json_array_get(list, 0), "value"), "own"));
	CHECK(!strcmp(text_of(json_array_get(list, 0), "scope"), "sandbox"));
	CHECK(!strcmp(text_of(json_array_get(list, 0), "placeholder"),
		      "placeholder-0123456789"));
	CHECK(!strcmp(
		json_string_value(json_array_get(
			json_object_get(json_array_get(list, 0), "paths"), 1)),
		"/repos/o/n/**"));
	json_decref(list);
	list = secret_bindings_make(services, all, own, session);
	CHECK(!strcmp(text_of(json_array_get(list, 0), "value"), "now"));
	/* without --repo no repository is meant */
	CHECK(json_array_size(
		      json_object_get(json_array_get(list, 0), "paths")) == 1);
}

static size_t paths_of(const char *store, const json_t *services)
{
	AUTO(json) json_t *own = parse(store);
	AUTO(json) json_t *list = NULL;

	if (!own)
		return 0;
	list = secret_bindings_make(services, NULL, own, NULL);
	return json_array_size(
		json_object_get(json_array_get(list, 0), "paths"));
}

#define REPOS(secret, repos)                           \
	"{\"version\": 1, \"secrets\": [" secret "], " \
	"\"placeholders\": {}, \"repos\": " repos "}"

static void who_names_no_repository_means_those_of_the_workspace(void)
{
	AUTO(json)
	json_t *services =
		services_parse(service_text, strlen(service_text), NULL);

	CHECK(paths_of(REPOS(SECRET("a", "\"value\": \"v\""),
			     "[\"o/n\", \"o/m\"]"),
		       services) == 3);
	CHECK(paths_of(REPOS(SECRET("a", "\"value\": \"v\", "
					 "\"repos\": [\"x/y\"]"),
			     "[\"o/n\", \"o/m\"]"),
		       services) == 2);
	CHECK(!paths_of(REPOS(SECRET("a", "\"value\": \"v\""), "[\"o n\"]"),
			services));
	CHECK(!paths_of(REPOS(SECRET("a", "\"value\": \"v\""), "1"), services));
}

static void a_placeholder_is_made_once_and_looks_right(void)
{
	AUTO(json)
	json_t *services =
		services_parse(service_text, strlen(service_text), NULL);
	AUTO(json)
	json_t *own = parse("{\"version\": 1, \"secrets\": [" SECRET(
		"a", "\"value\": \"v\"") "], \"placeholders\": {}}");
	AUTO(json) json_t *list = NULL;
	AUTO(json) json_t *again = NULL;
	const char *text;

	REQUIRE(services && own);
	list = secret_bindings_make(services, NULL, own, NULL);
	CHECK(json_is_null(
		json_object_get(json_array_get(list, 0), "placeholder")));
	CHECK(secret_bindings_fill(list, services, own) == 1);
	text = text_of(json_array_get(list, 0), "placeholder");
	CHECK(strlen(text) == 32 && text_starts(text, "p-"));
	again = secret_bindings_make(services, NULL, own, NULL);
	CHECK(secret_bindings_fill(again, services, own) == 0);
	CHECK(!strcmp(text, text_of(json_array_get(again, 0), "placeholder")));
}

int main(void)
{
	secret_store_wipe_json();
	RUN(what_is_no_store_is_refused);
	RUN(a_store_cut_anywhere_is_refused);
	RUN(a_value_loses_the_line_feeds_at_its_end_alone);
	RUN(a_file_is_ours_alone_or_not_read);
	RUN(the_nearest_scope_wins);
	RUN(who_names_no_repository_means_those_of_the_workspace);
	RUN(a_placeholder_is_made_once_and_looks_right);
	return DONE();
}
