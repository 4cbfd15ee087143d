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
#include "cli/share_parse.h"
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
	{ "volume", 'v', OPTION_LIST, "V", "", NULL, OPTION_HERE },
	{ "workspace-mode", '\0', OPTION_VALUE, "M", "", NULL, OPTION_HERE },
	{ "clone", '\0', OPTION_FLAG, NULL, "", NULL, OPTION_HERE },
	{ "hide", '\0', OPTION_LIST, "G", "", NULL, OPTION_HERE },
	{ "quota", '\0', OPTION_VALUE, "Q", "", NULL, OPTION_HERE },
	{ "force", '\0', OPTION_FLAG, NULL, "", NULL, OPTION_HERE },
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
	struct share_record share = { .host = path, .guest = path };
	struct sandbox_record record = { .name = (char *)name,
					 .id = "00",
					 .agent = "shell",
					 .shares = { &share, 1 },
					 .mode = "direct",
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
	CHECK(!strcmp(request.agent, "shell") && request.shares_given);
	CHECK(ASK("box") == 0 && request.must_exist);
	CHECK(ASK("./a:ro") == 0);
	CHECK(request.shares.items[0].read_only);
	CHECK(strstr(request.shares.items[0].host, "/a") != NULL);
	CHECK(ASK("claude-code", "./a") == 0 &&
	      !strcmp(request.agent, "claude"));
	CHECK(!strcmp(request_template(&request), "claude"));
	CHECK(ASK("-t", "tiny", "claude", "./a") == 0 &&
	      !strcmp(request_template(&request), "tiny"));
	CHECK(ASK("--name", "cagent", "./a") < 0 &&
	      strstr(err.text, "an agent"));
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

static bool fails(const char *why)
{
	if (strstr(err.text, why))
		return true;
	printf("# %s\n", err.text);
	return false;
}

static void what_must_not_be_shared_is_refused(void)
{
	struct share_record share;

	CHECK(ASK(".") < 0 && fails("home folder"));
	CHECK(ASK("--name", "xx") < 0 && fails("home folder"));
	CHECK(ASK("--force", ".") == 0);
	CHECK(ASK("/") < 0 && fails("whole host"));
	CHECK(ASK("--force", "-v", "/:/host", "./a") == 0);
	CHECK(ASK("--force", "/") < 0 && fails("/ of its own"));
	CHECK(ASK("./home") < 0 && fails("bawn's own"));
	CHECK(ASK("--force", "./home") < 0 && fails("bawn's own"));
	CHECK(ASK("--force", "./home/state/sandboxes") < 0 && fails("lies in"));
	CHECK(ASK("./a", "./a:ro") < 0 && fails("already"));
	CHECK(ASK("./a", "-v", "./b:/x", "-v", "./c:/x") < 0 &&
	      fails("that place"));
	CHECK(ASK("./fifo") < 0 && fails("neither a folder nor a file"));
	CHECK(ASK("./a", "-v", "./b:x") < 0 && fails("must be absolute") &&
	      err.code == OPTIONS_USAGE);
	CHECK(share_parse("b:x:ro", SHARE_FORM_MOUNT, &share, &err) < 0 &&
	      fails("must be absolute") && err.code == OPTIONS_USAGE);
	CHECK(ASK("./a", "-v", "./b:/x:r0") < 0 && fails("r0: neither ro") &&
	      err.code == OPTIONS_USAGE);
	CHECK(ASK("./a", "-v", "./b:/x:cached,or") < 0 && fails("or: neither"));
	CHECK(share_parse("b:/x:or", SHARE_FORM_MOUNT, &share, &err) < 0 &&
	      fails("or: neither ro") && err.code == OPTIONS_USAGE);
	CHECK(ASK("./a", "-v", "./b:/x:ro,z", "-v", "./c:/y:delegated") == 0);
	CHECK(request.shares.items[1].read_only &&
	      !strcmp(request.shares.items[1].guest, "/x") &&
	      !request.shares.items[2].read_only &&
	      !strcmp(request.shares.items[2].guest, "/y"));
	CHECK(ASK("./a", "-v", "./b:/x/../proc") < 0 && fails("\"..\""));
	CHECK(ASK("./a", "./a/file:ro") < 0 && fails("single file"));
	CHECK(ASK("./a:ro", "./a/file:ro") == 0);
	CHECK(ASK("./a/file:ro", "./a") < 0 && fails("single file"));
}

static void a_link_to_the_workspace_is_its_path_inside(void)
{
	char link[PATH_MAX], real[PATH_MAX];

	snprintf(link, sizeof(link), "%s/link", scratch);
	snprintf(real, sizeof(real), "%s/a", scratch);
	CHECK(ASK("./link") == 0);
	CHECK(!strcmp(request.shares.items[0].guest, link));
	CHECK(!strcmp(request.shares.items[0].host, real));
	/* the same sandbox by either way */
	CHECK(!strcmp(found(), "box"));
	CHECK(ASK("./link/../a") == 0);
	CHECK(!strcmp(request.shares.items[0].guest, real));
	/* "..", taken as text, would lead elsewhere: the real path counts */
	CHECK(ASK("./deep/..") == 0);
	CHECK(!strcmp(request.shares.items[0].guest, real));
	REQUIRE(chdir("a") == 0);
	setenv("PWD", link, 1);
	CHECK(ASK("--name", "new") == 0);
	CHECK(!strcmp(request.shares.items[0].guest, link));
	setenv("PWD", "/", 1);
	CHECK(ASK("--name", "new") == 0);
	CHECK(!strcmp(request.shares.items[0].guest, real));
	unsetenv("PWD");
	REQUIRE(chdir("..") == 0);
}

static void options_about_folders_are_compared_too(void)
{
	CHECK(ASK("--workspace-mode", "overlay", "./a") == 0 &&
	      !strcmp(found(), "!") && fails("direct, not overlay"));
	CHECK(ASK("--clone", "--workspace-mode", "direct", "./a") < 0);
	CHECK(ASK("--workspace-mode", "odd", "./a") < 0);
	CHECK(ASK("--clone", "./c") == 0 && !strcmp(request.mode, "clone"));
	CHECK(ASK("--hide", "*.key", "--hide", "x", "./a") == 0 &&
	      !strcmp(found(), "!") && fails("(none), not *.key x"));
	CHECK(ASK("--hide", "", "./a") < 0 && err.code == OPTIONS_USAGE);
	CHECK(ASK("--quota", "1G,5", "./a") == 0 && !strcmp(found(), "!") &&
	      fails("0,0, not 1073741824,5"));
	CHECK(ASK("--quota", "much", "./a") < 0);
	CHECK(ASK("--quota", "1G,many", "./a") < 0);
	CHECK(ASK("./a:ro") == 0 && !strcmp(found(), "!") && fails(":ro"));
	CHECK(ASK("./a", "-v", "./b:/b:ro") == 0 && !strcmp(found(), "!") &&
	      fails(":/b:ro"));
	CHECK(ASK("--quota", "0", "--workspace-mode", "direct", "./a") == 0 &&
	      !strcmp(found(), "box"));
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
	char home[PATH_MAX];

	if (!mkdtemp(scratch) || chdir(scratch) < 0)
		return 1;
	snprintf(home, sizeof(home), "%s/home", scratch);
	setenv("BAWN_HOME", home, 1);
	setenv("HOME", scratch, 1);
	unsetenv("PWD");
	for (const char *const *name =
		     (const char *const[]){ "a", "b", "c", NULL };
	     *name; name++)
		mkdir(*name, 0700);
	mkdir("a/sub", 0700);
	mkfifo("fifo", 0600);
	if (symlink("a", "link") < 0 || symlink("a/sub", "deep") < 0)
		return 1;
	close(open("a/file", O_WRONLY | O_CREAT, 0600));
	if (store_open(&store, &err) < 0)
		return 1;
	RUN(words_are_agents_paths_or_sandboxes);
	RUN(the_same_folder_is_the_same_sandbox_the_last_used_first);
	RUN(a_difference_is_an_error_with_both_values);
	RUN(new_names_give_way);
	RUN(what_must_not_be_shared_is_refused);
	RUN(a_link_to_the_workspace_is_its_path_inside);
	RUN(options_about_folders_are_compared_too);
	options_release(&options);
	request_release(&request);
	store_close(&store);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
