/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_request.c - which sandbox a command line means
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/options.h"
#include "cli/request.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-request-XXXXXX";
static struct store store;
static struct options options;
static struct request request;
static struct error err;

static const struct option_row rows[] = {
	{ "name", '\0', OPTION_VALUE, "N", "", NULL, OPTION_HERE },
	{ "template", 't', OPTION_VALUE, "T", "", NULL, OPTION_HERE },
	{ "memory", 'm', OPTION_VALUE, "S", "", NULL, OPTION_HERE },
	{ "rm", '\0', OPTION_FLAG, NULL, "", NULL, OPTION_HERE },
	{ .name = NULL },
};
static const struct command command = { .name = "run",
					.arguments = "",
					.help = "",
					.options = rows,
					.max_words = COMMAND_ANY_WORDS };

#define ASK(...) ask((const char *const[]){ __VA_ARGS__, NULL })

static int ask(const char *const *argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	options_release(&options);
	request_release(&request);
	err = (struct error){ 0 };
	store_list(&store, NULL);
	if (options_parse(&command, argc, argv, &options, &err) < 0)
		return -1;
	return request_parse(&options, &store, &request, &err);
}

static void put(const char *name, const char *folder, const char *template,
		int64_t used)
{
	char path[PATH_MAX];
	char *workspaces[] = { path, NULL };
	struct sandbox_record record = { .name = (char *)name,
					 .id = "00",
					 .agent = "shell",
					 .workspaces = workspaces,
					 .template_name = (char *)template,
					 .template_id = "sha256:0",
					 .accel = "auto",
					 .isolation = "microvm",
					 .memory_mib = 256,
					 .last_used = used };
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", scratch, folder);
	mkdirat(store.folder, name, 0700);
	fd = openat(store.folder, name, O_RDONLY | O_DIRECTORY);
	CHECK(sandbox_record_save(fd, &record, NULL) == 0);
}

/* The sandbox's name; "" for none, "!" for an error. */
static const char *found(void)
{
	static char name[SANDBOX_NAME_MAX + 1];
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	int result = request_find(&request, &store, &sandbox, &err);

	if (result <= 0)
		return result ? "!" : "";
	snprintf(name, sizeof(name), "%s", sandbox.record.name);
	return name;
}

static void words_are_agents_paths_or_sandboxes(void)
{
	put("box", "a", "tiny", 1);
	CHECK(ASK("shell", "./a") == 0);
	CHECK(!strcmp(request.agent, "shell") && request.workspaces_given);
	CHECK(ASK("box") == 0 && request.must_exist);
	CHECK(ASK("./a:ro") == 0);
	CHECK(strstr(request.workspaces[0], "/a:ro") != NULL);
	CHECK(ASK("claude") < 0 && strstr(err.text, "not available yet"));
	CHECK(ASK("shel") < 0 && strstr(err.text, "shell"));
	CHECK(ASK("./missing") < 0 && strstr(err.text, "missing"));
	CHECK(ASK("shell", "b") < 0 && strstr(err.text, "./b"));
	CHECK(ASK("--name", "-bad") < 0 && err.code == OPTIONS_USAGE);
	CHECK(ASK("-m", "much") < 0 && err.code == OPTIONS_USAGE);
}

static void the_same_folder_is_the_same_sandbox_the_last_used_first(void)
{
	put("older", "b", "tiny", 5);
	put("newer", "b", "base", 9);
	CHECK(ASK("./b") == 0 && !strcmp(found(), "newer"));
	CHECK(ASK("-t", "tiny", "./b") == 0 && !strcmp(found(), "older"));
	CHECK(ASK("-t", "other", "./b") == 0 && !strcmp(found(), ""));
	CHECK(ASK("--rm", "./b") == 0 && !strcmp(found(), ""));
}

static void a_difference_is_an_error_with_both_values(void)
{
	CHECK(ASK("-m", "512M", "./a") == 0 && !strcmp(found(), "!"));
	CHECK(strstr(err.text, "box"));
	CHECK(ASK("-m", "256M", "./a") == 0 && !strcmp(found(), "box"));
	CHECK(ASK("--name", "box", "-t", "base") == 0 && !strcmp(found(), "!"));
	CHECK(strstr(err.text, "tiny") && strstr(err.text, "base"));
	CHECK(ASK("--name", "box", "./b") == 0 && !strcmp(found(), "!"));
}

static bool new_name_begins(const char *prefix)
{
	AUTO_FREE char *name = request_new_name(&request, &store, &err);

	if (!name || strncmp(name, prefix, strlen(prefix)))
		printf("# %s\n", name ? name : err.text);
	return name && !strncmp(name, prefix, strlen(prefix)) &&
	       sandbox_name_check(name, NULL) == 0;
}

static void new_names_give_way(void)
{
	CHECK(ASK("--name", "mine", "./a") == 0 && new_name_begins("mine"));
	CHECK(ASK("./c") == 0 && new_name_begins("shell-c"));
	put("shell-c", "b", "tiny", 1);
	CHECK(ASK("./c") == 0 && new_name_begins("shell-c-"));
	CHECK(ASK("-t", "x/y:v1", "./b") == 0 && new_name_begins("shell-b-v1"));
	CHECK(ASK("--rm", "./b") == 0 && new_name_begins("shell-b-"));
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0)
		return 1;
	setenv("BAWN_HOME", scratch, 1);
	for (const char *const *name =
		     (const char *const[]){ "a", "b", "c", NULL };
	     *name; name++)
		mkdir(*name, 0700);
	if (store_open(&store, &err) < 0)
		return 1;
	RUN(words_are_agents_paths_or_sandboxes);
	RUN(the_same_folder_is_the_same_sandbox_the_last_used_first);
	RUN(a_difference_is_an_error_with_both_values);
	RUN(new_names_give_way);
	options_release(&options);
	request_release(&request);
	store_close(&store);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
