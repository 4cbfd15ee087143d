/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_control.c - control lines over real sockets
 */
#include "ipc/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"

#define LONG_NAME "a-name-of-forty-characters-or-so-long-x"

/* A private folder whose path is longer than a Unix address. */
struct folder {
	char root[32];
	int fd;
};

static int folder_make(struct folder *folder)
{
	int fd;

	memcpy(folder->root, "/tmp/bawn-control-XXXXXX", 25);
	if (!mkdtemp(folder->root))
		return -1;
	fd = open(folder->root, O_DIRECTORY | O_CLOEXEC);
	for (int depth = 0; depth < 4 && fd >= 0; depth++) {
		int next;

		mkdirat(fd, LONG_NAME, 0700);
		next = openat(fd, LONG_NAME, O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	folder->fd = fd;
	return fd < 0 ? -1 : 0;
}

static void folder_remove(struct folder *folder)
{
	struct error err;

	close(folder->fd);
	CHECK(fileio_remove_tree(AT_FDCWD, folder->root, &err) == 0);
}

static void a_deep_folder_is_listened_in_and_connected_to(void)
{
	AUTO_CLOSE int up = -1;
	struct folder folder;
	struct error err;
	struct stat st;

	REQUIRE(folder_make(&folder) == 0);
	CHECK(control_connect_to(folder.fd, CONTROL_SOCKET_NAME, &err) == -1 &&
	      err.code == ENOENT);
	for (int again = 0; again < 2; again++) {
		AUTO_CLOSE int listener =
			control_listen(folder.fd, CONTROL_SOCKET_NAME, &err);
		AUTO_CLOSE int client = control_connect_to(
			folder.fd, CONTROL_SOCKET_NAME, &err);
		AUTO_CLOSE int server =
			accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		CHECK(listener >= 0 && client >= 0 && server >= 0);
		CHECK(fcntl(listener, F_GETFL) & O_NONBLOCK);
		CHECK(!(fcntl(client, F_GETFL) & O_NONBLOCK));
		CHECK(!fstatat(folder.fd, CONTROL_SOCKET_NAME, &st, 0));
		CHECK((st.st_mode & 07777) == 0600 && S_ISSOCK(st.st_mode));
		CHECK(control_check_peer(server, getuid(), &err) == 0);
	}
	/* Nobody listens any more, and no temporary name was left. */
	CHECK(control_connect_to(folder.fd, CONTROL_SOCKET_NAME, &err) == -1);
	CHECK(err.code == ECONNREFUSED);
	CHECK(unlinkat(folder.fd, CONTROL_SOCKET_NAME, 0) == 0);
	up = openat(folder.fd, "..", O_DIRECTORY | O_CLOEXEC);
	CHECK(unlinkat(up, LONG_NAME, AT_REMOVEDIR) == 0);
	folder_remove(&folder);
}

static void a_listener_replaces_a_living_one(void)
{
	struct folder folder;
	struct error err;

	REQUIRE(folder_make(&folder) == 0);
	{
		AUTO_CLOSE int first =
			control_listen(folder.fd, CONTROL_SOCKET_NAME, &err);
		AUTO_CLOSE int second =
			control_listen(folder.fd, CONTROL_SOCKET_NAME, &err);
		AUTO_CLOSE int client = control_connect_to(
			folder.fd, CONTROL_SOCKET_NAME, &err);
		AUTO_CLOSE int server =
			accept4(second, NULL, NULL, SOCK_CLOEXEC);

		CHECK(client >= 0 && server >= 0);
		CHECK(accept4(first, NULL, NULL, 0) == -1);
	}
	folder_remove(&folder);
}

static void another_uid_may_not_command(void)
{
	int ends[2];
	struct error err;

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	CHECK(control_check_peer(ends[0], getuid(), &err) == 0);
	if (getuid() != 0) {
		CHECK(control_check_peer(ends[0], getuid() + 1, &err) == -1);
		CHECK(err.code == EPERM);
	}
	close(ends[0]);
	close(ends[1]);
}

/* As root: a peer with the overflow uid, which nobody may be trusted by. */
static void an_unmapped_uid_may_not_command(void)
{
	int ends[2] = { -1, -1 };
	struct error err;

	REQUIRE(seteuid(65534) == 0);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	REQUIRE(seteuid(0) == 0);
	CHECK(control_check_peer(ends[0], 65534, &err) == -1);
	CHECK(control_check_peer(ends[0], 1000, &err) == -1);
	close(ends[0]);
	close(ends[1]);
}

static int client_over_pair(struct control_client *client)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	control_client_init(client, ends[0]);
	return ends[1];
}

static void count_progress(void *ctx, const json_t *line)
{
	int *count = ctx;

	*count += json_integer_value(json_object_get(line, "n")) == *count + 1;
}

static void progress_is_told_in_order(void)
{
	static const char bytes[] = "{\"progress\":\"a\",\"n\":1}\n"
				    "{\"progress\":\"b\",\"n\":2}\n"
				    "{\"ok\":false,\"error\":\"late\"}\n";
	struct control_client client;
	AUTO_CLOSE int peer = client_over_pair(&client);
	struct error err = { 0 };
	int count = 0;

	REQUIRE(write(peer, bytes, sizeof(bytes) - 1) > 0);
	CHECK(!control_call_watched(&client, json_pack("{s:s}", "op", "x"),
				    count_progress, &count, &err));
	CHECK(count == 2 && !strcmp(err.text, "late"));
	control_client_release(&client);
}

static void bytes_after_the_answer_are_kept(void)
{
	static const char bytes[] = "{\"progress\":\"booting\"}\n"
				    "{\"ok\":true,\"session\":7}\nFRAMES";
	struct control_client client;
	AUTO_CLOSE int peer = client_over_pair(&client);
	struct error err;
	char request[64];
	json_t *answer;

	REQUIRE(write(peer, bytes, sizeof(bytes) - 1) > 0);
	answer = control_call(&client, json_pack("{s:s}", "op", "exec"), &err);
	CHECK(json_integer_value(json_object_get(answer, "session")) == 7);
	json_decref(answer);
	CHECK(client.len == 6 && !memcmp(client.line, "FRAMES", 6));
	CHECK(read(peer, request, sizeof(request)) == 14);
	CHECK(!memcmp(request, "{\"op\":\"exec\"}\n", 14));
	control_client_release(&client);
	CHECK(client.fd == -1 && !client.line);
}

static json_t *call_answered(const char *answer, struct error *err)
{
	struct control_client client;
	AUTO_CLOSE int peer = client_over_pair(&client);
	json_t *result;

	CHECK(write(peer, answer, strlen(answer)) == (ssize_t)strlen(answer));
	shutdown(peer, SHUT_WR);
	result = control_call(&client, control_ok(), err);
	control_client_release(&client);
	return result;
}

static void a_refusal_becomes_an_error(void)
{
	struct error err;

	CHECK(!call_answered("{\"ok\":false,\"error\":\"no \\u001b[31m\","
			     "\"code\":2}\n",
			     &err));
	CHECK(err.code == ENOENT && !strncmp(err.text, "no ", 3));
	CHECK(!strchr(err.text, 27));
	CHECK(!call_answered("{\"ok\":false}\n", &err) && err.code == 0);
	CHECK(!call_answered("{\"ok\":1}\n", &err) && err.code == EPROTO);
	CHECK(!call_answered("{}\n", &err) && err.code == EPROTO);
	CHECK(!call_answered("nonsense\n", &err) && err.code == EPROTO);
	CHECK(!call_answered("{\"ok\":true}", &err));
	CHECK(err.code == ECONNRESET);
	CHECK(!call_answered("", &err) && err.code == ECONNRESET);
}

static void *write_endless_line(void *arg)
{
	AUTO_FREE char *bytes = xmalloc(CONTROL_LINE_MAX * 2);
	int fd = *(int *)arg;

	memset(bytes, ' ', CONTROL_LINE_MAX * 2);
	send(fd, bytes, CONTROL_LINE_MAX * 2, MSG_NOSIGNAL);
	return NULL;
}

static void an_endless_line_is_given_up(void)
{
	struct control_client client;
	AUTO_CLOSE int peer = client_over_pair(&client);
	struct error err;
	pthread_t writer;

	REQUIRE(!pthread_create(&writer, NULL, write_endless_line, &peer));
	CHECK(!control_receive(&client, &err) && err.code == EMSGSIZE);
	CHECK(client.capacity < 4 * CONTROL_LINE_MAX);
	control_client_release(&client);
	pthread_join(writer, NULL);
}

static void a_line_is_one_object(void)
{
	static const char *const bad[] = { "",
					   "\n",
					   "[]\n",
					   "1\n",
					   "{}x",
					   "{\"a\":1,\"a\":2}",
					   "{\n}",
					   "{}\n{}\n",
					   "{\"a\":\"\xff\"}",
					   "{\"a\":\"\\u0000\"}" };
	struct error err;
	json_t *message = control_parse_line("{\"a\":1}\n", 8, &err);

	CHECK(message);
	json_decref(message);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!control_parse_line(bad[i], strlen(bad[i]), &err));
}

static void a_line_over_the_maximum_is_neither_written_nor_read(void)
{
	AUTO_FREE char *big = xmalloc(CONTROL_LINE_MAX + 1);
	AUTO_FREE char *line = NULL;
	json_t *message;
	struct error err;

	memset(big, ' ', CONTROL_LINE_MAX + 1);
	big[0] = '{';
	big[CONTROL_LINE_MAX - 2] = '}';
	message = control_parse_line(big, CONTROL_LINE_MAX - 1, &err);
	CHECK(message);
	json_decref(message);
	CHECK(!control_parse_line(big, CONTROL_LINE_MAX, &err));
	CHECK(err.code == EMSGSIZE);
	message = json_pack("{s:s%}", "k", big, (size_t)CONTROL_LINE_MAX);
	line = control_encode_line(message);
	CHECK(!line);
	json_decref(message);
}

static void a_failure_may_quote_any_bytes(void)
{
	json_t *message = control_failure(EIO, "guest said \xff\xfe");
	AUTO_FREE char *line = control_encode_line(message);

	CHECK(line && strstr(line, "\"code\":5") && strstr(line, "guest said"));
	CHECK(line && line[strlen(line) - 1] == '\n');
	json_decref(message);
}

int main(void)
{
	RUN(a_deep_folder_is_listened_in_and_connected_to);
	RUN(a_listener_replaces_a_living_one);
	RUN(another_uid_may_not_command);
	if (geteuid() == 0)
		RUN(an_unmapped_uid_may_not_command);
	else
		SKIP(an_unmapped_uid_may_not_command, "needs root");
	RUN(progress_is_told_in_order);
	RUN(bytes_after_the_answer_are_kept);
	RUN(a_refusal_becomes_an_error);
	RUN(an_endless_line_is_given_up);
	RUN(a_line_is_one_object);
	RUN(a_line_over_the_maximum_is_neither_written_nor_read);
	RUN(a_failure_may_quote_any_bytes);
	return DONE();
}
