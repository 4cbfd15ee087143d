/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h2_client.c - a guest says anything in HTTP/2, behind a good preface
 *
 * The first byte: bit 0, the server speaks HTTP/2 too; bit 1, it answers. What
 * reaches a server is for the right host and a path that the rules allow,
 * whatever came. All is given back in the end.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/fuzz.h"
#include "lib/h2_peer.h"
#include "lib/http_world.h"
#include "wire/url_path.h"

#define INPUT_MAX (64u * 1024)

static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				 "\0\0\0\4\0\0\0\0\0";
static const char *const ok[] = { ":status", "200", NULL };

/* In any spelling. */
static void check_path(const char *text)
{
	char path[URL_PATH_MAX + 1];

	FUZZ_CHECK(url_path_normalise(text, strcspn(text, " \n"), path) > 0);
	FUZZ_CHECK(!strncmp(path, "/org", 4) && (!path[4] || path[4] == '/'));
}

static void check_http2(const struct h2_peer *server)
{
	for (unsigned i = 0; i < server->stream_count; i++) {
		const char *head = server->streams[i].head;

		const char *path = strstr(head, ":path: ");

		FUZZ_CHECK(strstr(head, ":authority: api.example\n"));
		FUZZ_CHECK(path);
		check_path(path + strlen(":path: "));
	}
}

static void serve_http2(bool answers)
{
	struct h2_peer *server = peer_new(dup(world_servers[0]), true);

	peer_settle(server, NULL);
	check_http2(server);
	for (unsigned i = 0; answers && i < server->stream_count; i++)
		peer_answer(server, &server->streams[i], ok, "x", "y");
	peer_settle(server, NULL);
	check_http2(server);
	peer_free(server);
}

static void serve_http1(int fd, bool answers)
{
	static const char answer[] = "HTTP/1.1 103 x\r\n\r\n"
				     "HTTP/1.1 200 OK\r\n"
				     "Content-Length: 1\r\n\r\nx";
	char text[4096];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n <= 0)
		return;
	text[n] = '\0';
	FUZZ_CHECK(strchr(text, ' '));
	check_path(strchr(text, ' ') + 1);
	FUZZ_CHECK(strstr(text, " HTTP/1.1\r\nHost: api.example\r\n") ||
		   n == sizeof(text) - 1);
	if (answers)
		(void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	world_step();
}

static void drain(int fd)
{
	char bytes[65536];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		world_step();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool answers;
	int fd;

	if (size < 1)
		return 0;
	if (size > INPUT_MAX)
		size = INPUT_MAX;
	world_server_http2 = data[0] & 1;
	answers = data[0] & 2;
	world_open("allow GET,POST api.example/org/**");
	fd = world_connect(true);
	FUZZ_CHECK(send(fd, preface, sizeof(preface) - 1, 0) > 0);
	world_step();
	(void)!send(fd, data + 1, size - 1, MSG_NOSIGNAL);
	world_step();
	if (world_server_http2 && world_server_count)
		serve_http2(answers);
	for (int i = 0; !world_server_http2 && i < world_server_count; i++)
		serve_http1(world_servers[i], answers);
	drain(fd);
	close(fd);
	world_step();
	FUZZ_CHECK(world_flows() == 0);
	FUZZ_CHECK(world_close());
	return 0;
}
