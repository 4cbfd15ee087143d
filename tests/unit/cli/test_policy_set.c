/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy_set.c - which rules hold for a sandbox
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/policy_set.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-policy-XXXXXX";
static struct sandbox box;
static struct error err;

/* The two files; NULL: none. */
static void files(const char *global, const char *own)
{
	AUTO_CLOSE int config = -1;

	mkdir("config", 0700);
	config = open("config", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unlinkat(config, POLICY_SET_FILE, 0);
	unlinkat(box.folder, POLICY_SET_FILE, 0);
	if (global)
		fileio_replace(config, POLICY_SET_FILE, global, strlen(global),
			       0600, 0, NULL);
	if (own)
		fileio_replace(box.folder, POLICY_SET_FILE, own, strlen(own),
			       0600, 0, NULL);
}

/* True when this preset holds, and all of it compiles. */
static bool has_preset(const struct sandbox *sandbox, const char *preset)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	AUTO(policy) struct policy *policy = NULL;

	if (policy_set_load(sandbox, &set, &err) < 0)
		return false;
	policy = policy_set_compile(&set, &err);
	return policy && !strcmp(set.preset, preset);
}

static bool has_scope(const struct policy_set *set, enum policy_scope scope)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].scope == scope)
			return true;
	return false;
}

static void without_files_there_is_the_default(void)
{
	files(NULL, NULL);
	CHECK(has_preset(&box, POLICY_SET_DEFAULT));
	CHECK(has_preset(NULL, POLICY_SET_DEFAULT));
}

static void the_sandboxs_own_preset_wins(void)
{
	files("preset allow-all\n", NULL);
	CHECK(has_preset(&box, "allow-all") && has_preset(NULL, "allow-all"));
	files("preset allow-all\n", "# own\npreset deny-all\n");
	CHECK(has_preset(&box, "deny-all") && has_preset(NULL, "allow-all"));
}

static void every_preset_compiles_with_every_agent(void)
{
	char **names = policy_set_presets();
	char own[128];

	CHECK(names[0] != NULL);
	for (char **name = names; *name; name++) {
		static const char *const agents[] = { "shell",   "claude",
						      "codex",   "gemini",
						      "copilot", "none" };

		snprintf(own, sizeof(own), "preset %s\n", *name);
		files(NULL, own);
		for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
			box.record.agent = (char *)agents[i];
			CHECK(has_preset(&box, *name));
		}
	}
	policy_set_presets_free(names);
	box.record.agent = "shell";
}

static void an_agents_hosts_come_with_every_preset_but_the_strict_one(void)
{
	struct policy_set set;

	box.record.agent = "claude";
	files(NULL, NULL);
	CHECK(policy_set_load(&box, &set, &err) == 0);
	CHECK(has_scope(&set, POLICY_AGENT));
	CHECK(policy_set_replace(&set, POLICY_SANDBOX, "preset deny-all\n", 16,
				 &err) == 0);
	CHECK(!has_scope(&set, POLICY_AGENT));
	CHECK(!strcmp(set.preset, "deny-all"));
	policy_set_release(&set);
	box.record.agent = "shell";
}

static void sources_stand_in_the_order_of_their_scopes(void)
{
	struct policy_set set;
	json_t *list;

	files("allow a.example\n", "allow b.example\n");
	CHECK(policy_set_load(&box, &set, &err) == 0 && set.count >= 3);
	for (size_t i = 1; i < set.count; i++)
		CHECK(set.items[i - 1].scope < set.items[i].scope);
	list = policy_set_json(&set, &err);
	CHECK(json_array_size(list) == set.count);
	CHECK(!strcmp(json_string_value(
			      json_object_get(json_array_get(list, 1), "text")),
		      "allow a.example\n"));
	json_decref(list);
	policy_set_release(&set);
}

static void what_is_wrong_is_named_with_its_line(void)
{
	struct policy_set set;

	files("allow a.example\nallow a.example:x\n", NULL);
	CHECK(policy_set_load(&box, &set, &err) == 0);
	CHECK(!policy_set_json(&set, &err));
	CHECK(strstr(err.text, "/config/policy:2: "));
	policy_set_release(&set);
	files(NULL, "preset nowhere\n");
	CHECK(policy_set_load(&box, &set, &err) < 0);
	CHECK(strstr(err.text, "nowhere") && strstr(err.text, "balanced"));
	policy_set_release(&set);
	files(NULL, "preset ../../etc/passwd\n");
	CHECK(policy_set_load(&box, &set, &err) < 0);
	policy_set_release(&set);
}

static void a_file_that_is_no_text_is_refused(void)
{
	struct policy_set set;

	files(NULL, NULL);
	fileio_replace(box.folder, POLICY_SET_FILE, "allow a\0b\n", 10, 0600, 0,
		       NULL);
	CHECK(policy_set_load(&box, &set, &err) < 0);
	policy_set_release(&set);
	unlinkat(box.folder, POLICY_SET_FILE, 0);
	CHECK(symlinkat("/etc/passwd", box.folder, POLICY_SET_FILE) == 0);
	CHECK(policy_set_load(&box, &set, &err) < 0);
	policy_set_release(&set);
	unlinkat(box.folder, POLICY_SET_FILE, 0);
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0 ||
	    setenv("BAWN_HOME", scratch, 1) < 0 || mkdir("box", 0700) < 0)
		return 1;
	box = SANDBOX_INIT;
	box.folder = open("box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	box.record.name = "box";
	box.record.agent = "shell";
	RUN(without_files_there_is_the_default);
	RUN(the_sandboxs_own_preset_wins);
	RUN(every_preset_compiles_with_every_agent);
	RUN(an_agents_hosts_come_with_every_preset_but_the_strict_one);
	RUN(sources_stand_in_the_order_of_their_scopes);
	RUN(what_is_wrong_is_named_with_its_line);
	RUN(a_file_that_is_no_text_is_refused);
	close(box.folder);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
