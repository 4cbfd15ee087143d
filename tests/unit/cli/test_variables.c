/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_variables.c - K=V, K, and files of them
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/variables.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-variables-XXXXXX";

static bool has(const json_t *variables, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(variables, key));

	return value ? text && !strcmp(text, value) : !text;
}

static void a_value_is_kept_as_it_is(void)
{
	json_t *all = json_object();

	CHECK(variables_add(all, "A=1=2 3", NULL) == 0);
	CHECK(variables_add(all, "EMPTY=", NULL) == 0);
	CHECK(has(all, "A", "1=2 3") && has(all, "EMPTY", ""));
	json_decref(all);
}

static void a_key_alone_takes_the_hosts_value_if_there_is_one(void)
{
	json_t *all = json_object();

	setenv("BAWN_TEST_HAS", "host", 1);
	unsetenv("BAWN_TEST_HAS_NOT");
	CHECK(variables_add(all, "BAWN_TEST_HAS", NULL) == 0);
	CHECK(variables_add(all, "BAWN_TEST_HAS_NOT", NULL) == 0);
	CHECK(has(all, "BAWN_TEST_HAS", "host"));
	CHECK(has(all, "BAWN_TEST_HAS_NOT", NULL));
	json_decref(all);
}

static void what_is_no_name_is_refused(void)
{
	static const char *const bad[] = { "=x", "", "A B=1", "1A=2",
					   "\033=1" };
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };

		CHECK(variables_add(all, bad[i], &err) < 0);
		CHECK(err.code == OPTIONS_USAGE && !strchr(err.text, '\033'));
	}
	CHECK(variables_add(all, "A=\xff", NULL) < 0);
	CHECK(json_object_size(all) == 0);
	json_decref(all);
}

static void they_survive_the_round_trip(void)
{
	AUTO_CLOSE int folder = open(scratch, O_RDONLY | O_DIRECTORY);
	json_t *all = json_object(), *again;

	REQUIRE(folder >= 0);
	again = variables_load(folder, NULL);
	CHECK(again && json_object_size(again) == 0);
	json_decref(again);
	variables_add(all, "A=b c", NULL);
	CHECK(variables_save(folder, all, NULL) == 0);
	again = variables_load(folder, NULL);
	CHECK(json_equal(all, again));
	json_decref(again);
	json_decref(all);
	fileio_replace(folder, STORE_ENV_FILE, "[]", 2, 0600, 0, NULL);
	CHECK(!variables_load(folder, NULL));
	unlinkat(folder, STORE_ENV_FILE, 0);
}

static void a_services_key_alone_is_not_a_variable(void)
{
	json_t *all = json_object();

	setenv("GROQ_API_KEY", "gsk_true", 1);
	CHECK(variables_add(all, "GROQ_API_KEY", NULL) == 0);
	CHECK(json_object_size(all) == 0);
	CHECK(variables_add(all, "GROQ_API_KEY=given", NULL) == 0);
	CHECK(json_object_size(all) == 1);
	unsetenv("GROQ_API_KEY");
	json_decref(all);
}

static bool listed(char **list, const char *text)
{
	for (; *list; list++)
		if (!strcmp(*list, text))
			return true;
	return false;
}

static void a_session_knows_where_it_is(void)
{
	struct share_record share = { .host = "/real", .guest = "/w x" };
	struct sandbox sandbox = {
		.folder = open(scratch, O_RDONLY | O_DIRECTORY),
		.record = { .name = "box", .id = "ab", .shares = { &share, 1 } }
	};
	json_t *extra = json_pack("{s:s}", "IS_SANDBOX", "mine");
	char **list;

	setenv("TERM", "vt100", 1);
	list = variables_of_session(&sandbox, true, NULL, extra, NULL);
	REQUIRE(list);
	CHECK(listed(list, "SANDBOX_NAME=box"));
	CHECK(listed(list, "SANDBOX_ID=ab"));
	CHECK(listed(list, "WORKSPACE_DIR=/w x"));
	CHECK(listed(list, "TERM=vt100"));
	CHECK(listed(list, "IS_SANDBOX=mine"));
	variables_free(list);
	json_decref(extra);
	close(sandbox.folder);
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	setenv("BAWN_HOME", scratch, 1);
	RUN(a_value_is_kept_as_it_is);
	RUN(a_key_alone_takes_the_hosts_value_if_there_is_one);
	RUN(what_is_no_name_is_refused);
	RUN(they_survive_the_round_trip);
	RUN(a_services_key_alone_is_not_a_variable);
	RUN(a_session_knows_where_it_is);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
