/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy_append.c - one more rule for a sandbox
 */
#include "launch/policy_append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-append-XXXXXX";
static int folder;

static bool file_is(const char *want)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);

	if (fileio_read(folder, POLICY_APPEND_FILE, &text, NULL) < 0)
		return false;
	return text.len == strlen(want) && !memcmp(text.data, want, text.len);
}

static void a_rule_is_added_once_at_the_end(void)
{
	struct error err = { 0 };

	CHECK(policy_append_file(folder, "allow a", &err) == 0);
	CHECK(file_is("allow a\n"));
	fileio_replace(folder, POLICY_APPEND_FILE, "# x\nallow a:4", 13, 0600,
		       0, NULL);
	CHECK(policy_append_file(folder, "allow a", &err) == 0);
	CHECK(file_is("# x\nallow a:4\nallow a\n"));
	CHECK(policy_append_file(folder, "allow a", &err) == 0);
	CHECK(policy_append_file(folder, "allow a:4", &err) == 0);
	CHECK(file_is("# x\nallow a:4\nallow a\n"));
}

static void while_somebody_edits_it_nothing_is_written(void)
{
	AUTO_CLOSE int lock =
		fileio_lock(folder, POLICY_APPEND_LOCK, FILEIO_LOCK_TRY, NULL);
	struct error err = { 0 };

	REQUIRE(lock >= 0);
	CHECK(policy_append_file(folder, "deny b", &err) < 0);
	CHECK(err.code == EWOULDBLOCK);
	CHECK(file_is("# x\nallow a:4\nallow a\n"));
}

static bool settings_are(json_t *settings, const char *want)
{
	json_t *list = json_object_get(settings, "policy");
	AUTO_FREE char *text = json_dumps(list, JSON_COMPACT);

	if (strcmp(text, want))
		printf("# %s\n", text);
	return !strcmp(text, want);
}

static void settings_get_it_in_the_sandboxs_own_text(void)
{
	json_t *settings = json_pack("{s:[{s:s, s:s, s:s}]}", "policy", "scope",
				     "global", "name", "g", "text", "deny x");

	policy_append_settings(settings, "allow a");
	CHECK(settings_are(settings,
			   "[{\"scope\":\"global\",\"name\":\"g\",\"text\":"
			   "\"deny x\"},{\"scope\":\"sandbox\",\"name\":"
			   "\"policy\",\"text\":\"allow a\\n\"}]"));
	policy_append_settings(settings, "allow a");
	policy_append_settings(settings, "deny b");
	CHECK(settings_are(settings,
			   "[{\"scope\":\"global\",\"name\":\"g\",\"text\":"
			   "\"deny x\"},{\"scope\":\"sandbox\",\"name\":"
			   "\"policy\",\"text\":\"allow a\\ndeny b\\n\"}]"));
	json_decref(settings);
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(a_rule_is_added_once_at_the_end);
	RUN(while_somebody_edits_it_nothing_is_written);
	RUN(settings_get_it_in_the_sandboxs_own_text);
	close(folder);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
