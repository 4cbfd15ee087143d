/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_seed.c - what the files of an agent's home begin with
 */
#include "cli/agent_seed.h"

#include "base/buffer.h"
#include "base/own.h"
#include "lib/tap.h"

AUTO_DEFINE(json, json_t *, json_decref)

static char *const env[] = { "KEY=0123456789abcdefghijklmnop", "SHORT=abc",
			     "EMPTY=", NULL };
static const struct agent_seed_facts facts = { .cwd = "/work",
					       .name = "box",
					       .env = env };

static json_t *files_of(const char *agent, const char *notice)
{
	AUTO(json) json_t *json = json_loads(agent, 0, NULL);

	return agent_seed_files(json, notice, &facts);
}

static bool is(const json_t *json, const char *expected)
{
	AUTO(json) json_t *other = json_loads(expected, JSON_DECODE_ANY, NULL);
	AUTO_FREE char *text = json_dumps(json, JSON_ENCODE_ANY);

	if (!json_equal(json, other))
		printf("# %s\n", text ? text : "nothing");
	return json_equal(json, other);
}

static void names_and_values_are_filled_in(void)
{
	AUTO(json)
	json_t *files = files_of(
		"{\"seeds\": [{\"path\": \"a\", \"json\": {\"${cwd}\": {\"n\": "
		"\"<${name}>\"}, \"l\": [\"${tail:KEY}\", \"${key:SHORT}\", "
		"\"${tail:SHORT}\"], \"yes\": true}}, {\"path\": \"b\", "
		"\"text\": \"x ${key:KEY}\"}], \"notice\": \"c/d\"}",
		"in ${cwd}\n");

	CHECK(is(files, "{\"a\": {\"/work\": {\"n\": \"<box>\"}, \"l\": "
			"[\"6789abcdefghijklmnop\", \"abc\", \"abc\"], "
			"\"yes\": true}, \"b\": \"x "
			"0123456789abcdefghijklmnop\", \"c/d\": \"in "
			"/work\\n\"}"));
}

static void what_has_no_value_is_left_out(void)
{
	AUTO(json)
	json_t *files = files_of(
		"{\"seeds\": [{\"path\": \"a\", \"json\": {\"l\": "
		"[\"${key:NONE}\", \"x\"], \"${key:NONE}\": 1, \"e\": "
		"\"${key:EMPTY}\", \"o\": \"${other}\", \"p\": \"${key:\"}}, "
		"{\"path\": \"b\", \"text\": \"${key:NONE}\"}, {\"path\": "
		"\"c\", \"json\": {\"k\": \"${key:NONE}\"}}]}",
		NULL);

	CHECK(is(files, "{\"a\": {\"l\": [\"x\"], \"p\": \"${key:\"}}"));
}

static bool merges(const char *mine, const char *seed, const char *expected)
{
	AUTO(json) json_t *one = json_loads(mine, 0, NULL);
	AUTO(json) json_t *other = json_loads(seed, 0, NULL);
	bool changed = agent_seed_merge(one, other);

	return is(one, expected) && changed == (strcmp(mine, expected) != 0) &&
	       !agent_seed_merge(one, other);
}

static void what_is_there_wins(void)
{
	CHECK(merges("{}", "{\"a\": 1}", "{\"a\": 1}"));
	CHECK(merges("{\"a\": 2}", "{\"a\": 1}", "{\"a\": 2}"));
	CHECK(merges("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 2, \"c\": 3}}",
		     "{\"a\": {\"b\": 1, \"c\": 3}}"));
	CHECK(merges("{\"a\": [1, 2]}", "{\"a\": [2, 3]}",
		     "{\"a\": [1, 2, 3]}"));
	CHECK(merges("{\"a\": null}", "{\"a\": {\"b\": 1}}", "{\"a\": null}"));
	CHECK(merges("{\"a\": [1]}", "{\"a\": {\"b\": 1}}", "{\"a\": [1]}"));
}

static void only_objects_are_updated(void)
{
	AUTO(json) json_t *seed = json_loads("{\"a\": 1}", 0, NULL);
	AUTO(json) json_t *text = json_string("text");
	static const char *const kept[] = { "",     "[]",         "nonsense",
					    "{\"a", "{\"a\": 5}", "null" };

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		AUTO_BUFFER struct buffer out = BUFFER_INIT(AGENT_SEED_MAX);

		CHECK(agent_seed_update(kept[i], strlen(kept[i]), seed, &out) ==
			      0 &&
		      !out.len);
		CHECK(agent_seed_update(kept[i], strlen(kept[i]), text, &out) ==
		      0);
	}
}

static void an_update_holds_both(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(AGENT_SEED_MAX);
	AUTO(json) json_t *seed = json_loads("{\"a\": 1}", 0, NULL);
	AUTO(json) json_t *both = NULL;

	REQUIRE(agent_seed_update("{\"b\": 2}", 8, seed, &out) == 1);
	both = json_loadb((const char *)out.data, out.len, 0, NULL);
	CHECK(is(both, "{\"a\": 1, \"b\": 2}"));
}

int main(void)
{
	RUN(names_and_values_are_filled_in);
	RUN(what_has_no_value_is_left_out);
	RUN(what_is_there_wins);
	RUN(only_objects_are_updated);
	RUN(an_update_holds_both);
	return DONE();
}
