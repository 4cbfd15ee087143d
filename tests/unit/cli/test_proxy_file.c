/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proxy_file.c - proxy-config.json where scripts look for it
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/proxy_file.h"
#include "cli/store.h"
#include "lib/tap.h"

#define DEFAULT ".sandboxd/proxy-config.json"

static char scratch[] = "/tmp/bawn-test-proxy-XXXXXX";
static struct store store = { .folder = -1 };
static struct sandbox box;
static struct error err;

static void put(const char *path, const char *text)
{
	fileio_replace(AT_FDCWD, path, text, strlen(text), 0600, 0, NULL);
}

static int read_default(struct buffer *policy)
{
	buffer_init(policy, 65536);
	return proxy_file_default(&store, policy, &err);
}

static void without_a_file_there_is_no_default(void)
{
	AUTO_BUFFER struct buffer policy = { 0 };

	CHECK(read_default(&policy) == 0 && policy.len == 0);
}

static void the_file_becomes_rules(void)
{
	AUTO_BUFFER struct buffer policy = { 0 };

	mkdir(".sandboxd", 0700);
	put(DEFAULT, "{\"policy\":\"deny\",\"network\":"
		     "{\"allowedDomains\":[\"a.example\"]}}");
	CHECK(read_default(&policy) == 1);
	CHECK(policy.len && strstr(buffer_str(&policy), "allow a.example\n"));
}

static void a_wrong_file_is_an_error_that_names_it(void)
{
	AUTO_BUFFER struct buffer policy = { 0 };

	put(DEFAULT, "{\"policy\":\"deny\",\"mitm\":{}}");
	CHECK(read_default(&policy) < 0);
	CHECK(strstr(err.text, "~/" DEFAULT) && strstr(err.text, "mitm"));
}

static void links_and_pipes_are_not_read(void)
{
	AUTO_BUFFER struct buffer one = { 0 };
	AUTO_BUFFER struct buffer two = { 0 };
	AUTO_BUFFER struct buffer three = { 0 };

	put("real.json", "{\"policy\":\"allow\"}");
	unlink(DEFAULT);
	CHECK(symlink("../real.json", DEFAULT) == 0);
	CHECK(read_default(&one) < 0);
	unlink(DEFAULT);
	CHECK(mkfifo(DEFAULT, 0600) == 0);
	CHECK(read_default(&two) < 0);
	unlink(DEFAULT);
	rmdir(".sandboxd");
	mkdir("elsewhere", 0700);
	put("elsewhere/proxy-config.json", "{\"policy\":\"allow\"}");
	CHECK(symlink("elsewhere", ".sandboxd") == 0);
	CHECK(read_default(&three) < 0);
	unlink(".sandboxd");
}

#define VM ".docker/sandboxes/vm/box"

static void the_sandboxs_file_is_made_only_when_asked_for(void)
{
	struct stat st;

	CHECK(proxy_file_update(&box, PROXY_FILE_KEEP, &err) == 0);
	CHECK(lstat(".docker", &st) < 0);
	CHECK(proxy_file_update(&box, PROXY_FILE_MAKE, &err) == 0);
	CHECK(lstat(VM "/proxy-config.json", &st) == 0 && S_ISREG(st.st_mode));
	unlink(VM "/proxy-config.json");
	CHECK(proxy_file_update(&box, PROXY_FILE_KEEP, &err) == 0);
	CHECK(lstat(VM "/proxy-config.json", &st) < 0);
}

static void a_link_in_its_place_is_replaced_and_not_followed(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);
	struct stat st;

	put("victim", "untouched");
	CHECK(symlink("../../../../victim", VM "/proxy-config.json") == 0);
	CHECK(proxy_file_update(&box, PROXY_FILE_KEEP, &err) == 0);
	CHECK(lstat(VM "/proxy-config.json", &st) == 0 && S_ISREG(st.st_mode));
	CHECK(fileio_read(AT_FDCWD, "victim", &text, NULL) == 0);
	CHECK(text.len == 9);
}

static void removal_leaves_what_is_not_ours(void)
{
	struct stat st;

	put(VM "/other", "x");
	proxy_file_remove("box");
	CHECK(lstat(VM "/proxy-config.json", &st) < 0);
	CHECK(lstat(VM "/other", &st) == 0);
	unlink(VM "/other");
	CHECK(proxy_file_update(&box, PROXY_FILE_MAKE, &err) == 0);
	proxy_file_remove("box");
	CHECK(lstat(VM, &st) < 0);
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0 ||
	    setenv("BAWN_HOME", scratch, 1) < 0 ||
	    setenv("HOME", scratch, 1) < 0 || mkdir("box", 0700) < 0)
		return 1;
	box = SANDBOX_INIT;
	box.folder = open("box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	box.record.name = "box";
	box.record.agent = "shell";
	RUN(without_a_file_there_is_no_default);
	RUN(the_file_becomes_rules);
	RUN(a_wrong_file_is_an_error_that_names_it);
	RUN(links_and_pipes_are_not_read);
	RUN(the_sandboxs_file_is_made_only_when_asked_for);
	RUN(a_link_in_its_place_is_replaced_and_not_followed);
	RUN(removal_leaves_what_is_not_ours);
	close(box.folder);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
