/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_net_config.c - the network's settings of a sandbox
 */
#include "cli/net_config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/socket_probe.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-net-XXXXXX";
static const char *const *variables;

static char *get(const char *name)
{
	for (const char *const *v = variables; v && *v; v++) {
		size_t len = strlen(name);

		if (!strncmp(*v, name, len) && (*v)[len] == '=')
			return (char *)*v + len + 1;
	}
	return NULL;
}

static bool proxies_are(const char *const *given, const char *want)
{
	AUTO_FREE char *text = NULL;
	json_t *json;
	bool same;

	variables = given;
	json = net_config_proxy(get);
	text = json_dumps(json, JSON_COMPACT);
	same = !strcmp(text, want);
	if (!same)
		printf("# %s\n", text);
	json_decref(json);
	return same;
}

static void proxies_are_read_as_curl_does(void)
{
	static const char *const none[] = { "http_proxy=", NULL };
	static const char *const both[] = { "HTTP_PROXY=http://a:1",
					    "https_proxy=b:2",
					    "HTTPS_PROXY=http://c:3",
					    "NO_PROXY=.x,10.0.0.0/8", NULL };
	static const char *const all[] = { "ALL_PROXY=socks5://s:1080",
					   "no_proxy=a", "NO_PROXY=b", NULL };

	CHECK(proxies_are(none,
			  "{\"http\":null,\"https\":null,\"no_proxy\":null}"));
	CHECK(proxies_are(both,
			  "{\"http\":\"http://a:1\",\"https\":\"http://b:2\","
			  "\"no_proxy\":\".x,10.0.0.0/8\"}"));
	CHECK(proxies_are(all, "{\"http\":\"socks5://s:1080\",\"https\":"
			       "\"socks5://s:1080\",\"no_proxy\":\"a\"}"));
}

static struct sandbox box(void)
{
	struct sandbox sandbox = {
		.folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.record = { .name = "box",
			    .id = "0123",
			    .agent = "shell",
			    .ports = { { { "127.0.0.1", 8080, 80 } }, 1 },
			    .sockets = { { { "/run/none", "/run/b" } }, 1 },
			    .ask = true },
	};

	return sandbox;
}

static void a_record_becomes_settings(void)
{
	struct sandbox sandbox = box();
	struct error err = { 0 };
	json_t *net = net_config_make(&sandbox, &err), *one;

	REQUIRE(net);
	CHECK(json_array_size(json_object_get(net, "policy")) >= 1);
	CHECK(json_is_string(json_object_get(net, "preset")));
	CHECK(json_integer_value(json_object_get(net, "ask_ms")) ==
	      NET_CONFIG_ASK_MS);
	one = json_array_get(json_object_get(net, "published"), 0);
	CHECK(json_integer_value(json_object_get(one, "guest")) == 80);
	one = json_array_get(json_object_get(net, "sockets"), 0);
	CHECK(!strcmp(json_string_value(json_object_get(one, "host")),
		      "/run/none"));
	/* What a running machine keeps is not there. */
	CHECK(json_object_size(net) == 5);
	json_decref(net);
	sandbox.record.ask = false;
	net = net_config_make(&sandbox, &err);
	CHECK(json_integer_value(json_object_get(net, "ask_ms")) == 0);
	json_decref(net);
	close(sandbox.folder);
}

static void a_hook_is_a_program_that_only_its_owner_can_write(void)
{
	AUTO_FREE char *folder = xasprintf("%s/config", scratch);
	AUTO_FREE char *path = xasprintf("%s/ask-hook", folder);
	struct sandbox sandbox = box();
	struct error err = { 0 };
	json_t *net = net_config_start(&sandbox, &err);

	REQUIRE(net);
	CHECK(json_is_null(json_object_get(net, "hook")));
	CHECK(json_object_size(net) == 10);
	CHECK(json_is_null(json_object_get(net, "ssh_agent")));
	json_decref(net);
	REQUIRE(fileio_mkdirs(folder, 0700, &err) == 0);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	CHECK(!net_config_start(&sandbox, &err) && strstr(err.text, path));
	chmod(path, 0720);
	CHECK(!net_config_start(&sandbox, &err) && strstr(err.text, path));
	chmod(path, 0700);
	net = net_config_start(&sandbox, &err);
	REQUIRE(net);
	CHECK(!strcmp(json_string_value(json_object_get(
			      json_object_get(net, "hook"), "path")),
		      path));
	json_decref(net);
	unlink(path);
	close(sandbox.folder);
}

/* A daemon that gives this answer once; its pid. */
static pid_t serve(const char *path, const char *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	memcpy(address.sun_path, path, strlen(path));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char question[256];
		int one = accept(fd, NULL, NULL);

		if (read(one, question, sizeof(question)) < 0 ||
		    write(one, answer, strlen(answer)) < 0)
			_exit(1);
		_exit(0);
	}
	close(fd);
	return pid;
}

static void docker_is_known_by_what_it_answers(void)
{
	static const struct {
		const char *answer;
		int want;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n\r\nOK", -1 },
		{ "HTTP/1.1 200 OK\r\nServer: x\r\n\r\nOK", 0 },
		{ "", 0 },
	};
	AUTO_FREE char *path = xasprintf("%s/sock", scratch);

	CHECK(socket_probe(path, NULL) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		pid_t pid = serve(path, cases[i].answer);

		REQUIRE(pid > 0);
		CHECK(socket_probe(path, &err) == cases[i].want);
		CHECK(!cases[i].want || strstr(err.text, "Docker"));
		waitpid(pid, NULL, 0);
		unlink(path);
	}
}

static void a_start_with_a_docker_socket_is_refused(void)
{
	AUTO_FREE char *path = xasprintf("%s/sock", scratch);
	pid_t pid = serve(path, "HTTP/1.1 200 OK\r\nApi-Version: 1\r\n\r\n");
	struct sandbox sandbox = box();
	struct error err = { 0 };

	sandbox.record.sockets.items[0].host = path;
	CHECK(!net_config_start(&sandbox, &err));
	CHECK(strstr(err.text, "Docker") && strstr(err.text, path));
	waitpid(pid, NULL, 0);
	close(sandbox.folder);
}

int main(void)
{
	if (!mkdtemp(scratch) || setenv("BAWN_HOME", scratch, 1) < 0)
		return 1;
	RUN(proxies_are_read_as_curl_does);
	RUN(a_record_becomes_settings);
	RUN(a_hook_is_a_program_that_only_its_owner_can_write);
	RUN(docker_is_known_by_what_it_answers);
	RUN(a_start_with_a_docker_socket_is_refused);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
