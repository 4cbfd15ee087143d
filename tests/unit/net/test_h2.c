/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2.c - requests over HTTP/2 on either side, and over HTTP/1 on the other
 */
#include "net/h2_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include "lib/h2_peer.h"
#include "lib/http_world.h"
#include "lib/tap.h"
#include "net/limit.h"

#define RULES "allow api.example"

static const char *const get[] = { ":method", "GET",        ":scheme",
				   "http",    ":authority", "api.example",
				   ":path",   "/a?b",       "accept",
				   "*/*",     NULL };
static const char *const post[] = { ":method",  "POST",       ":scheme",
				    "http",     ":authority", "api.example",
				    ":path",    "/up",        "te",
				    "trailers", NULL };
static const char *const ok[] = { ":status", "200", "server", "t", NULL };

static struct h2_peer *client, *server;

static void begin(void)
{
	world_server_http2 = true;
	world_open(RULES);
	client = peer_new(world_connect(true), false);
	server = NULL;
}

/* The server's side, when the first request is on its way. */
static void meet_server(void)
{
	peer_settle(client, NULL);
	if (world_server_count < 1)
		abort();
	server = peer_new(dup(world_servers[0]), true);
	peer_settle(client, server);
}

static void end(void)
{
	peer_free(client);
	peer_free(server);
	client = server = NULL;
	world_step();
	CHECK(world_close());
}

static bool is(const struct peer_stream *stream, const char *head,
	       const char *body)
{
	return !strcmp(stream->head, head) && !strcmp(stream->body, body) &&
	       stream->ended;
}

static void a_request_and_its_response_pass(void)
{
	struct peer_stream *asked;

	begin();
	asked = peer_ask(client, get, NULL, NULL);
	meet_server();
	CHECK(server->stream_count == 1);
	CHECK(is(&server->streams[0],
		 ":method: GET\n:scheme: http\n:authority: api.example\n"
		 ":path: /a?b\naccept: */*\n--\n",
		 ""));
	peer_answer(server, &server->streams[0], ok, "hello", NULL);
	peer_settle(server, client);
	CHECK(is(asked, ":status: 200\nserver: t\n--\n", "hello"));
	CHECK(asked->closed && asked->error == 0);
	CHECK(server->streams[0].closed && server->streams[0].error == 0);
	end();
}

static void bodies_and_trailers_pass_both_ways(void)
{
	struct peer_stream *asked;

	begin();
	asked = peer_ask(client, post, "some bytes", "one");
	meet_server();
	CHECK(is(&server->streams[0],
		 ":method: POST\n:scheme: http\n:authority: api.example\n"
		 ":path: /up\nte: trailers\n--\nx-trailer: one\n--\n",
		 "some bytes"));
	peer_answer(server, &server->streams[0], ok, "others", "two");
	peer_settle(server, client);
	CHECK(is(asked, ":status: 200\nserver: t\n--\nx-trailer: two\n--\n",
		 "others"));
	end();
}

/* As gRPC answers an error: a head and nothing else. */
static void a_response_may_be_a_head_alone(void)
{
	static const char *const only[] = { ":status", "200", "grpc-status",
					    "5", NULL };
	struct peer_stream *asked;

	begin();
	asked = peer_ask(client, post, "x", NULL);
	meet_server();
	peer_answer(server, &server->streams[0], only, NULL, NULL);
	peer_settle(server, client);
	CHECK(is(asked, ":status: 200\ngrpc-status: 5\ncontent-length: 0\n--\n",
		 ""));
	end();
}

static void interim_responses_pass(void)
{
	struct peer_stream *asked;

	begin();
	asked = peer_ask(client, get, NULL, NULL);
	meet_server();
	peer_inform(server, &server->streams[0], "100");
	peer_inform(server, &server->streams[0], "103");
	peer_answer(server, &server->streams[0], ok, "x", NULL);
	peer_settle(server, client);
	CHECK(is(asked,
		 ":status: 100\n--\n:status: 103\n--\n"
		 ":status: 200\nserver: t\n--\n",
		 "x"));
	end();
}

static void many_at_a_time_are_answered_in_any_order(void)
{
	struct peer_stream *asked[LIMIT_H2_STREAMS];
	char text[LIMIT_H2_STREAMS][8];

	begin();
	for (int i = 0; i < LIMIT_H2_STREAMS; i++)
		asked[i] = peer_ask(client, get, NULL, NULL);
	meet_server();
	CHECK(server->stream_count == LIMIT_H2_STREAMS);
	CHECK(world_server_count == 1);
	for (int i = LIMIT_H2_STREAMS - 1; i >= 0; i--) {
		snprintf(text[i], sizeof(text[i]), "%d", i);
		peer_answer(server, &server->streams[i], ok, text[i], NULL);
	}
	peer_settle(server, client);
	for (int i = 0; i < LIMIT_H2_STREAMS; i++)
		CHECK(!strcmp(asked[i]->body, text[i]) && asked[i]->closed);
	end();
}

static void events_come_at_once(void)
{
	struct peer_stream *asked;

	begin();
	asked = peer_ask(client, get, NULL, NULL);
	meet_server();
	peer_answer(server, &server->streams[0], ok, "one ", "held");
	peer_settle(server, client);
	CHECK(!strcmp(asked->body, "one ") && !asked->ended);
	/* One round of each is enough. */
	peer_go_on(server, &server->streams[0], "two", false);
	peer_pump(server);
	world_step();
	peer_pump(client);
	CHECK(!strcmp(asked->body, "one two") && !asked->ended);
	peer_go_on(server, &server->streams[0], "!", true);
	peer_settle(server, client);
	CHECK(!strcmp(asked->body, "one two!") && asked->ended);
	end();
}

static void no_more_is_taken_than_the_client_takes(void)
{
	const size_t whole = 8u << 20;
	struct peer_stream *asked, *from;
	size_t left;

	begin();
	client->holds = true;
	asked = peer_ask(client, get, NULL, NULL);
	meet_server();
	from = &server->streams[0];
	peer_answer_bytes(server, from, whole);
	peer_settle(server, client);
	left = from->count;
	CHECK(asked->body_len > 0 && asked->body_len <= 65535);
	CHECK(whole - left <=
	      asked->body_len + LIMIT_H2_OUT + LIMIT_H2_SERVER_WINDOW + 65536);
	peer_settle(server, client);
	CHECK(from->count == left);
	for (int i = 0; i < 4000 && !asked->ended; i++) {
		peer_take(client);
		peer_settle(server, client);
	}
	CHECK(asked->ended && asked->body_len == whole);
	end();
}

static void a_stream_that_is_not_read_stops_no_other(void)
{
	struct peer_stream *slow[8], *quick;

	begin();
	client->holds = true;
	for (int i = 0; i < 8; i++)
		slow[i] = peer_ask(client, get, NULL, NULL);
	meet_server();
	for (int i = 0; i < 8; i++)
		peer_answer_bytes(server, &server->streams[i], 1u << 20);
	peer_settle(server, client);
	/* The client's own window for all is full now: it opens that one. */
	nghttp2_session_set_local_window_size(client->session, 0, 0, 1 << 20);
	quick = peer_ask(client, get, NULL, NULL);
	peer_settle(client, server);
	REQUIRE(server->stream_count == 9);
	peer_answer(server, &server->streams[8], ok, "quick", NULL);
	peer_settle(server, client);
	CHECK(!strcmp(quick->body, "quick") && quick->ended);
	CHECK(!slow[0]->ended);
	end();
}

static ssize_t read_text(int fd, char *out, size_t size)
{
	ssize_t n = recv(fd, out, size - 1, MSG_DONTWAIT);

	out[n > 0 ? n : 0] = '\0';
	return n;
}

static void say(int fd, const char *text)
{
	CHECK(send(fd, text, strlen(text), MSG_NOSIGNAL) ==
	      (ssize_t)strlen(text));
	world_step();
}

static void a_server_may_speak_http1(void)
{
	struct peer_stream *asked;
	char text[1024];

	begin();
	world_server_http2 = false;
	asked = peer_ask(client, post, "some bytes", "one");
	peer_settle(client, NULL);
	REQUIRE(world_server_count == 1);
	read_text(world_servers[0], text, sizeof(text));
	CHECK(!strcmp(text, "POST /up HTTP/1.1\r\nHost: api.example\r\n"
			    "Transfer-Encoding: chunked\r\nTE: trailers\r\n"
			    "Connection: TE\r\n\r\n"
			    "a\r\nsome bytes\r\n0\r\nx-trailer: one\r\n\r\n"));
	say(world_servers[0], "HTTP/1.1 100 Continue\r\n\r\n"
			      "HTTP/1.1 200 OK\r\nServer: T\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n"
			      "3\r\nabc\r\n0\r\nX-End: 1\r\n\r\n");
	peer_settle(client, NULL);
	CHECK(is(
		asked,
		":status: 100\n--\n:status: 200\nserver: T\n--\nx-end: 1\n--\n",
		"abc"));
	/* The connection is kept for the next one. */
	asked = peer_ask(client, get, NULL, NULL);
	peer_settle(client, NULL);
	CHECK(world_server_count == 1);
	read_text(world_servers[0], text, sizeof(text));
	CHECK(!strncmp(text, "GET /a?b HTTP/1.1\r\n", 19));
	say(world_servers[0], "HTTP/1.1 204 None\r\n\r\n");
	peer_settle(client, NULL);
	CHECK(is(asked, ":status: 204\n--\n", ""));
	end();
}

static void each_needs_a_connection_of_its_own_in_http1(void)
{
	struct peer_stream *asked[3];
	char text[1024];

	begin();
	world_server_http2 = false;
	for (int i = 0; i < 3; i++)
		asked[i] = peer_ask(client, get, NULL, NULL);
	peer_settle(client, NULL);
	REQUIRE(world_server_count == 3);
	for (int i = 2; i >= 0; i--) {
		CHECK(read_text(world_servers[i], text, sizeof(text)) > 0);
		say(world_servers[i],
		    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
	}
	peer_settle(client, NULL);
	for (int i = 0; i < 3; i++)
		CHECK(!strcmp(asked[i]->body, "x") && asked[i]->ended);
	/* Both are free: none is made. */
	peer_ask(client, get, NULL, NULL);
	peer_settle(client, NULL);
	CHECK(world_server_count == 3);
	end();
}

static void a_client_may_speak_http1(void)
{
	char text[1024];
	int fd;

	world_server_http2 = true;
	world_open(RULES);
	fd = world_connect(false);
	say(fd, "PUT /up HTTP/1.1\r\nHost: api.example\r\nX-Big: Y\r\n"
		"Content-Length: 4\r\n\r\nbody");
	REQUIRE(world_server_count == 1);
	server = peer_new(dup(world_servers[0]), true);
	peer_settle(server, NULL);
	CHECK(is(&server->streams[0],
		 ":method: PUT\n:scheme: http\n:authority: api.example\n"
		 ":path: /up\nx-big: Y\ncontent-length: 4\n--\n",
		 "body"));
	peer_inform(server, &server->streams[0], "103");
	peer_answer(server, &server->streams[0], ok, "hello", "two");
	peer_settle(server, NULL);
	read_text(fd, text, sizeof(text));
	CHECK(!strcmp(text,
		      "HTTP/1.1 103 \r\n\r\nHTTP/1.1 200 \r\nserver: t\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
		      "0\r\nx-trailer: two\r\n\r\n"));
	/* And the next on the same stream of bytes; HEAD has a length alone. */
	say(fd, "HEAD / HTTP/1.1\r\nHost: api.example\r\n\r\n");
	peer_settle(server, NULL);
	REQUIRE(server->stream_count == 2);
	peer_answer(server, &server->streams[1],
		    (const char *const[]){ ":status", "200", "content-length",
					   "77", NULL },
		    NULL, NULL);
	peer_settle(server, NULL);
	read_text(fd, text, sizeof(text));
	CHECK(!strcmp(text, "HTTP/1.1 200 \r\nContent-Length: 77\r\n\r\n"));
	close(fd);
	client = NULL;
	world_step();
	end();
}

static void an_upgrade_needs_http1_on_both_sides(void)
{
	char text[1024];
	int fd;

	world_server_http2 = true;
	world_open(RULES);
	fd = world_connect(false);
	say(fd, "GET / HTTP/1.1\r\nHost: api.example\r\nUpgrade: websocket\r\n"
		"Connection: Upgrade\r\n\r\n");
	read_text(fd, text, sizeof(text));
	CHECK(!strncmp(text, "HTTP/1.1 501 ", 13));
	close(fd);
	client = server = NULL;
	world_step();
	end();
}

static void a_server_that_goes_gets_no_new_requests(void)
{
	struct peer_stream *first, *second;
	struct h2_peer *other;

	begin();
	first = peer_ask(client, get, NULL, NULL);
	meet_server();
	nghttp2_submit_goaway(server->session, 0, server->streams[0].id, 0,
			      NULL, 0);
	peer_settle(server, client);
	second = peer_ask(client, get, NULL, NULL);
	peer_settle(client, server);
	REQUIRE(world_server_count == 2);
	other = peer_new(dup(world_servers[1]), true);
	peer_settle(other, client);
	peer_answer(other, &other->streams[0], ok, "new", NULL);
	peer_answer(server, &server->streams[0], ok, "old", NULL);
	peer_settle(server, client);
	peer_settle(other, client);
	CHECK(!strcmp(first->body, "old") && !strcmp(second->body, "new"));
	peer_free(other);
	end();
}

int main(void)
{
	RUN(a_request_and_its_response_pass);
	RUN(bodies_and_trailers_pass_both_ways);
	RUN(a_response_may_be_a_head_alone);
	RUN(interim_responses_pass);
	RUN(many_at_a_time_are_answered_in_any_order);
	RUN(events_come_at_once);
	RUN(no_more_is_taken_than_the_client_takes);
	RUN(a_stream_that_is_not_read_stops_no_other);
	RUN(a_server_may_speak_http1);
	RUN(each_needs_a_connection_of_its_own_in_http1);
	RUN(a_client_may_speak_http1);
	RUN(an_upgrade_needs_http1_on_both_sides);
	RUN(a_server_that_goes_gets_no_new_requests);
	return DONE();
}
