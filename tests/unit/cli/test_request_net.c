/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_request_net.c - what run and create are told about the network
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/options.h"
#include "cli/policy_set.h"
#include "cli/request.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-net-XXXXXX";
static struct store store = { .folder = -1 };
static struct options options;
static struct request request;
static struct sandbox box;
static struct error err;

static const struct option_row rows[] = {
	{ "policy", '\0', OPTION_VALUE, "P", "", NULL, OPTION_HERE },
	{ "allow", '\0', OPTION_LIST, "R", "", NULL, OPTION_HERE },
	{ "deny", '\0', OPTION_LIST, "R", "", NULL, OPTION_HERE },
	{ "ask", '\0', OPTION_FLAG, NULL, "", NULL, OPTION_HERE },
	{ "publish", 'p', OPTION_LIST, "S", "", NULL, OPTION_HERE },
	{ "socket", '\0', OPTION_LIST, "S", "", NULL, OPTION_HERE },
	{ .name = NULL },
};
static const struct command command = { .name = "run",
					.arguments = "",
					.help = "",
					.options = rows,
					.max_words = COMMAND_ANY_WORDS };

#define TAKE(...) take((const char *const[]){ __VA_ARGS__, NULL })

static int take(const char *const *argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	options_release(&options);
	request_release(&request);
	err = (struct error){ 0 };
	if (options_parse(&command, argc, argv, &options, &err) < 0)
		return -1;
	return request_take_net(&options, &store, &request, &err);
}

/* The file that a new sandbox gets; until the next call. */
static const char *policy(void)
{
	static struct buffer text;

	buffer_release(&text);
	buffer_init(&text, 65536);
	if (request_policy(&request, &store, &text, &err) < 0)
		return "";
	return text.len ? buffer_str(&text) : "";
}

static void options_become_the_sandboxs_file(void)
{
	CHECK(TAKE("--ask") == 0 && request.ask && !*policy());
	CHECK(TAKE("--policy", "deny-all", "--allow", "a.example,b.example:22",
		   "--deny", "**.c.example", "--allow", "localhost:5432") == 0);
	CHECK(!strcmp(policy(), "preset deny-all\nallow a.example\n"
				"allow b.example:22\nallow localhost:5432\n"
				"deny **.c.example\n"));
}

static void what_makes_no_sense_is_a_usage_error(void)
{
	CHECK(TAKE("--policy", "open") < 0 && err.code == OPTIONS_USAGE);
	CHECK(strstr(err.text, "balanced"));
	CHECK(TAKE("--allow", "localhost") < 0 && err.code == OPTIONS_USAGE);
	CHECK(strstr(err.text, "--allow"));
	CHECK(TAKE("--deny", "allow a.example") < 0);
	CHECK(TAKE("-p", "x") < 0 && err.code == OPTIONS_USAGE);
	CHECK(TAKE("-p", "8080:1", "-p", "8080:2") < 0);
	CHECK(err.code == OPTIONS_USAGE);
	CHECK(TAKE("-p", "1", "-p", "1") == 0 && request.ports.count == 2);
}

static void own(const char *text)
{
	fileio_replace(box.folder, POLICY_SET_FILE, text, strlen(text), 0600, 0,
		       NULL);
}

static void an_equal_request_is_no_difference(void)
{
	own("preset deny-all\nallow a.example # why\n");
	box.record.ask = true;
	box.record.ports.count = 0;
	port_list_add(&box.record.ports,
		      &(struct port_record){ "127.0.0.1", 8080, 3000 });
	CHECK(TAKE("--policy", "deny-all", "--allow", "A.example", "--ask",
		   "-p", "8080:3000", "-p", "3000") == 0);
	CHECK(request_compare_net(&request, &box, &err) == 0);
}

static bool differs(const char *has, const char *asked)
{
	return request_compare_net(&request, &box, &err) < 0 &&
	       strstr(err.text, has) && strstr(err.text, asked);
}

static void a_difference_shows_both_values(void)
{
	own("preset deny-all\nallow a.example\n");
	box.record.ask = false;
	TAKE("--policy", "balanced");
	CHECK(differs("deny-all", "balanced"));
	TAKE("--allow", "b.example");
	CHECK(differs("box", "bawn policy allow box 'b.example'"));
	TAKE("--deny", "a.example");
	CHECK(differs("deny a.example", "bawn policy deny box"));
	TAKE("--ask");
	CHECK(differs("off", "on"));
	TAKE("-p", "8081:3000");
	CHECK(differs("127.0.0.1:8080->3000", "127.0.0.1:8081:3000"));
	TAKE("-p", "4000");
	CHECK(differs("8080->3000", "4000"));
}

static void listen_at(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	(void)bind(fd, (struct sockaddr *)&name, sizeof(name));
}

static void a_socket_is_named_by_where_it_really_is(void)
{
	char expected[128];

	mkdir("run", 0700);
	CHECK(symlink("run", "link") == 0);
	listen_at("run/a.sock");
	snprintf(expected, sizeof(expected), "%s/run/a.sock", scratch);
	CHECK(TAKE("--socket", "link/a.sock:/tmp/a.sock") == 0);
	CHECK(request.sockets.count == 1);
	CHECK(!strcmp(request.sockets.items[0].host, expected));
	CHECK(!strcmp(request.sockets.items[0].guest, "/tmp/a.sock"));
	/* the server may come later */
	CHECK(TAKE("--socket", "run/later.sock") == 0);
	CHECK(!strcmp(request.sockets.items[0].guest,
		      request.sockets.items[0].host));
}

static void what_is_no_socket_is_refused(void)
{
	mkdir("run/folder", 0700);
	CHECK(TAKE("--socket", "run/folder") < 0);
	CHECK(strstr(err.text, "not a Unix socket"));
	CHECK(TAKE("--socket", "nowhere/a.sock") < 0);
	CHECK(TAKE("--socket", "") < 0 && TAKE("--socket", "run/..") < 0);
	CHECK(TAKE("--socket", "run/a.sock:/run/bawn/a.sock") < 0);
	CHECK(TAKE("--socket", "run/a.sock:/x", "--socket",
		   "run/later.sock:/x") < 0);
}

static void a_socket_where_a_guest_writes_is_refused(void)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "%s/run", scratch);
	CHECK(TAKE("--ask") == 0);
	share_list_add(&request.shares,
		       &(struct share_record){ folder, folder, false, false });
	options_release(&options);
	CHECK(options_parse(
		      &command, 2,
		      (const char *const[]){ "--socket", "run/a.sock", NULL },
		      &options, &err) == 0);
	CHECK(request_take_net(&options, &store, &request, &err) < 0);
	CHECK(strstr(err.text, "can write"));
}

static void a_socket_of_bawns_own_is_refused(void)
{
	listen_at("state/control.sock");
	CHECK(TAKE("--socket", "state/control.sock") < 0);
	CHECK(strstr(err.text, "bawn's own"));
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0 ||
	    setenv("BAWN_HOME", scratch, 1) < 0 || mkdir("box", 0700) < 0 ||
	    mkdir("state", 0700) < 0)
		return 1;
	box = SANDBOX_INIT;
	box.folder = open("box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	box.record.name = "box";
	box.record.agent = "shell";
	RUN(options_become_the_sandboxs_file);
	RUN(what_makes_no_sense_is_a_usage_error);
	RUN(an_equal_request_is_no_difference);
	RUN(a_difference_shows_both_values);
	RUN(a_socket_is_named_by_where_it_really_is);
	RUN(what_is_no_socket_is_refused);
	RUN(a_socket_where_a_guest_writes_is_refused);
	RUN(a_socket_of_bawns_own_is_refused);
	options_release(&options);
	request_release(&request);
	close(box.folder);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
