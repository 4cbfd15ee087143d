/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h2_server.c - a server answers anything in HTTP/2
 *
 * The first byte: bit 0, the client speaks HTTP/2 too. Two requests are under
 * way, one with a body. A client never sees a head or an end that the server
 * did not say in order, and all is given back in the end.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/fuzz.h"
#include "lib/h2_peer.h"
#include "lib/http_world.h"

#define INPUT_MAX (64u * 1024)

static const char *const get[] = { ":method", "GET",        ":scheme",
				   "http",    ":authority", "api.example",
				   ":path",   "/a",         NULL };
static const char *const post[] = { ":method", "POST",       ":scheme",
				    "http",    ":authority", "api.example",
				    ":path",   "/b",         NULL };

static void answer(const uint8_t *data, size_t size)
{
	static const uint8_t settings[] = "\0\0\0\4\0\0\0\0";

	if (!world_server_count)
		return;
	(void)!send(world_servers[0], settings, sizeof(settings), MSG_NOSIGNAL);
	world_step();
	(void)!send(world_servers[0], data, size, MSG_NOSIGNAL);
	world_step();
}

static void run_http2(const uint8_t *data, size_t size)
{
	struct h2_peer *client = peer_new(world_connect(true), false);

	peer_ask(client, get, NULL, NULL);
	peer_ask(client, post, "body", "trailer");
	peer_settle(client, NULL);
	answer(data, size);
	peer_settle(client, NULL);
	/* It speaks the protocol, whatever the server speaks. */
	FUZZ_CHECK(!client->went_away && !client->gone);
	for (unsigned i = 0; i < client->stream_count; i++) {
		const struct peer_stream *stream = &client->streams[i];

		FUZZ_CHECK(!stream->ended ||
			   !strncmp(stream->head, ":status: ", 9));
	}
	peer_free(client);
	world_step();
	FUZZ_CHECK(world_flows() == 0);
}

static void run_http1(const uint8_t *data, size_t size)
{
	static const char text[] =
		"GET /a HTTP/1.1\r\nHost: api.example\r\n\r\n"
		"POST /b HTTP/1.1\r\nHost: api.example\r\n"
		"Content-Length: 4\r\n\r\nbody";
	int fd = world_connect(false);
	char bytes[65536];
	ssize_t n;

	FUZZ_CHECK(send(fd, text, strlen(text), 0) > 0);
	world_step();
	answer(data, size);
	n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	FUZZ_CHECK(n <= 0 || (n >= 9 && !memcmp(bytes, "HTTP/1.1 ", 9)));
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (size > INPUT_MAX)
		size = INPUT_MAX;
	world_server_http2 = true;
	world_open("allow api.example");
	if (data[0] & 1)
		run_http2(data + 1, size - 1);
	else
		run_http1(data + 1, size - 1);
	world_step();
	FUZZ_CHECK(world_close());
	return 0;
}
