/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_hostile.c - peers of HTTP/2 that break the rules, or only change
 * their mind
 */
#include "net/h2_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include "lib/h2_peer.h"
#include "lib/http_world.h"
#include "lib/tap.h"
#include "net/limit.h"

#define RULES "allow GET,HEAD,POST api.example/org/**"

struct ask {
	const char *method, *host, *path, *name, *value;
};

static struct h2_peer *client, *server;
static const char *const ok[] = { ":status", "200", NULL };
static const struct ask usual = { "GET", "api.example", "/org/a", NULL, NULL };

static struct peer_stream *ask(const struct ask *what, const char *text,
			       const char *trailer)
{
	const char *const fields[] = { ":method",   what->method, ":scheme",
				       "http",      ":authority", what->host,
				       ":path",     what->path,   what->name,
				       what->value, NULL };

	return peer_ask(client, fields, text, trailer);
}

static void begin(void)
{
	world_server_http2 = true;
	world_open(RULES);
	client = peer_new(world_connect(true), false);
	server = NULL;
}

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

static bool has_status(const struct peer_stream *stream, const char *status)
{
	char text[32];

	snprintf(text, sizeof(text), ":status: %s\n", status);
	return !strncmp(stream->head, text, strlen(text));
}

/* The connection is good for another one. */
static void check_others_go_on(void)
{
	struct peer_stream *asked = ask(&usual, NULL, NULL);
	unsigned seen;

	if (server)
		peer_settle(client, server);
	else
		meet_server();
	seen = server->stream_count;
	REQUIRE(seen > 0);
	peer_answer(server, &server->streams[seen - 1], ok, "fine", NULL);
	peer_settle(server, client);
	CHECK(!strcmp(asked->body, "fine") && asked->ended);
}

static void another_host_is_sent_elsewhere(void)
{
	static const struct ask others[] = {
		{ "GET", "other.example", "/org/a", NULL, NULL },
		{ "GET", "api.example:8080", "/org/a", NULL, NULL },
		{ "GET", "api.example.", "/org/a", "host", "other.example" },
	};
	struct peer_stream *asked[3];

	begin();
	for (int i = 0; i < 3; i++)
		asked[i] = ask(&others[i], NULL, NULL);
	peer_settle(client, NULL);
	CHECK(has_status(asked[0], "421") && has_status(asked[1], "421"));
	CHECK(has_status(asked[2], "400"));
	CHECK(world_server_count == 0);
	check_others_go_on();
	end();
}

static void rules_hold_for_each_request(void)
{
	static const struct ask bad[] = {
		{ "DELETE", "api.example", "/org/a", NULL, NULL },
		{ "GET", "api.example", "/other", NULL, NULL },
		{ "GET", "api.example", "/org/../other", NULL, NULL },
		{ "GET", "api.example", "/org/%2e%2e/other", NULL, NULL },
	};

	begin();
	for (int i = 0; i < 4; i++) {
		struct peer_stream *asked = ask(&bad[i], NULL, NULL);

		peer_settle(client, NULL);
		CHECK(has_status(asked, "403") && asked->ended);
		CHECK(strstr(asked->body, "bawn: api.example is blocked"));
	}
	CHECK(world_server_count == 0);
	check_others_go_on();
	end();
}

static void what_nobody_may_say_reaches_no_server(void)
{
	static const struct ask bad[] = {
		{ "get", "api.example", "/org/a", NULL, NULL },
		{ "GET", "api.example", "org/a", NULL, NULL },
		{ "GET", "api.example", "http://x/", NULL, NULL },
		{ "GET", "api.example", "/org/a b", NULL, NULL },
		{ "GET", "api.example", "/org/a", "connection", "close" },
		{ "GET", "api.example", "/org/a", "transfer-encoding",
		  "chunked" },
		{ "GET", "api.example", "/org/a", "upgrade", "websocket" },
		{ "GET", "api.example", "/org/a", "te", "gzip" },
		{ "GET", "api.example", "/org/a", "a", "b\r\nc: d" },
		{ "GET", "api.example", "/org/a", "a", " b" },
		{ "GET", "api.example", "/org/a", "content-length", "5" },
		{ "GET", "api.example", "/org/a", "content_length", "0" },
		{ "GET", "api.example", "/org/a", ":path", "/org/b" },
		{ "CONNECT", "api.example", "/org/a", ":protocol",
		  "websocket" },
		{ "CONNECT", "api.example:80", "/org/a", NULL, NULL },
	};

	begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct peer_stream *asked = ask(&bad[i], NULL, NULL);

		peer_settle(client, NULL);
		CHECK(asked->closed);
		CHECK(asked->error == NGHTTP2_PROTOCOL_ERROR ||
		      has_status(asked, "400") || has_status(asked, "501"));
	}
	CHECK(world_server_count == 0);
	check_others_go_on();
	end();
}

static void heads_that_are_too_long_are_refused(void)
{
	const char *fields[2 * 150 + 9] = { ":method",    "GET",
					    ":scheme",    "http",
					    ":authority", "api.example",
					    ":path",      "/org/a" };
	static char value[9000];
	struct peer_stream *asked;

	begin();
	for (int i = 8; i < 2 * 150 + 8; i++)
		fields[i] = i % 2 ? "b" : "a";
	asked = peer_ask(client, fields, NULL, NULL);
	peer_settle(client, NULL);
	CHECK(has_status(asked, "431"));
	memset(value, 'v', sizeof(value) - 1);
	for (int i = 9; i < 8 + 20; i += 2)
		fields[i] = value;
	fields[8 + 20] = NULL;
	asked = peer_ask(client, fields, NULL, NULL);
	peer_settle(client, NULL);
	CHECK(has_status(asked, "431"));
	CHECK(world_server_count == 0);
	check_others_go_on();
	end();
}

static void a_body_is_as_long_as_it_was_said_to_be(void)
{
	static const char *const lengths[] = { "3", "6" };

	for (int i = 0; i < 2; i++) {
		const struct ask what = { "POST", "api.example", "/org/a",
					  "content-length", lengths[i] };
		struct peer_stream *asked;

		begin();
		asked = ask(&what, "five!", NULL);
		meet_server();
		CHECK(asked->closed &&
		      (asked->error == NGHTTP2_PROTOCOL_ERROR ||
		       has_status(asked, "400")));
		/* And no server believes that it got a whole one. */
		CHECK(!server->stream_count || !server->streams[0].ended);
		CHECK(!server->stream_count || server->streams[0].closed);
		check_others_go_on();
		end();
	}
}

static void who_gives_up_is_heard_on_the_other_side(void)
{
	struct peer_stream *asked;

	begin();
	asked = ask(&usual, NULL, NULL);
	meet_server();
	peer_reset(client, asked, NGHTTP2_CANCEL);
	peer_settle(client, server);
	CHECK(server->streams[0].closed &&
	      server->streams[0].error == NGHTTP2_CANCEL);
	check_others_go_on();
	end();
}

static void a_server_that_refuses_a_stream_did_nothing(void)
{
	struct peer_stream *asked;

	begin();
	asked = ask(&usual, NULL, NULL);
	meet_server();
	peer_reset(server, &server->streams[0], NGHTTP2_REFUSED_STREAM);
	peer_settle(server, client);
	CHECK(asked->closed && asked->error == NGHTTP2_REFUSED_STREAM);
	check_others_go_on();
	end();
}

static void a_response_that_breaks_off_does_not_look_whole(void)
{
	struct peer_stream *asked, *early;

	begin();
	asked = ask(&usual, NULL, NULL);
	early = ask(&usual, NULL, NULL);
	meet_server();
	peer_answer(server, &server->streams[0], ok, "part", "held");
	peer_settle(server, client);
	peer_reset(server, &server->streams[0], NGHTTP2_INTERNAL_ERROR);
	peer_reset(server, &server->streams[1], NGHTTP2_INTERNAL_ERROR);
	peer_settle(server, client);
	CHECK(!strcmp(asked->body, "part") && !asked->ended && asked->closed &&
	      asked->error == NGHTTP2_INTERNAL_ERROR);
	CHECK(has_status(early, "502") && early->ended);
	check_others_go_on();
	end();
}

static void a_server_that_closes_is_a_bad_gateway(void)
{
	struct peer_stream *asked;

	begin();
	asked = ask(&usual, NULL, NULL);
	meet_server();
	shutdown(world_servers[0], SHUT_RDWR);
	peer_settle(client, NULL);
	CHECK(has_status(asked, "502") && asked->ended);
	peer_free(server);
	server = NULL;
	/* The next one gets a new connection. */
	asked = ask(&usual, NULL, NULL);
	peer_settle(client, NULL);
	CHECK(world_server_count == 2);
	end();
}

static void responses_that_break_rules_are_refused(void)
{
	static const char *const bad[][5] = {
		{ ":status", "2000", NULL },
		{ ":status", "101", NULL },
		{ ":status", "200", "content-length", "99", NULL },
		{ ":status", "200", "content-length", "2", NULL },
		{ ":status", "200", "connection", "close", NULL },
		{ ":status", "200", "transfer-encoding", "chunked", NULL },
		{ "server", "x", NULL },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct peer_stream *asked;

		begin();
		asked = ask(&usual, NULL, NULL);
		meet_server();
		peer_answer(server, &server->streams[0], bad[i], "body", NULL);
		peer_settle(server, client);
		CHECK(asked->closed);
		CHECK(has_status(asked, "502") ||
		      asked->error == NGHTTP2_INTERNAL_ERROR);
		end();
	}
}

static void an_answer_may_come_before_the_body(void)
{
	const struct ask what = { "POST", "api.example", "/other", NULL, NULL };
	struct peer_stream *asked;

	begin();
	asked = ask(&what, "part", "held");
	peer_settle(client, NULL);
	CHECK(has_status(asked, "403") && asked->ended);
	CHECK(asked->closed && asked->error == NGHTTP2_NO_ERROR);
	check_others_go_on();
	end();
}

static void what_is_revoked_ends(void)
{
	struct peer_stream *asked, *next;

	begin();
	asked = ask(&usual, NULL, NULL);
	meet_server();
	peer_answer(server, &server->streams[0], ok, "part", "held");
	peer_settle(server, client);
	world_change("deny api.example");
	peer_settle(client, server);
	CHECK(asked->closed && asked->error == NGHTTP2_CANCEL);
	CHECK(server->streams[0].closed);
	next = ask(&usual, NULL, NULL);
	peer_settle(client, server);
	CHECK(has_status(next, "403"));
	end();
}

/* Uploads that nobody takes and that are given up: all windows come back. */
static void what_is_given_up_costs_no_window(void)
{
	static char body[LIMIT_H2_CLIENT_WINDOW];
	const struct ask what = { "POST", "api.example", "/org/a", NULL, NULL };
	const int times = LIMIT_H2_WINDOW / LIMIT_H2_CLIENT_WINDOW + 20;

	memset(body, 'b', sizeof(body) - 1);
	begin();
	ask(&usual, NULL, NULL);
	meet_server();
	server->holds = true;
	for (int i = 0; i < times; i++) {
		struct peer_stream *asked = ask(&what, body, NULL);

		peer_pump(client);
		peer_pump(server);
		peer_pump(client);
		peer_reset(client, asked, NGHTTP2_CANCEL);
		peer_pump(client);
		world_step();
		peer_take(server);
	}
	peer_settle(client, server);
	CHECK(nghttp2_session_get_remote_window_size(client->session) >
	      LIMIT_H2_WINDOW / 4);
	CHECK(!client->went_away);
	end();
}

/* Nobody takes what many clients send: the heaviest go. */
static void what_is_held_is_bounded_over_all(void)
{
	enum { CLIENTS = 6 };
	static char body[LIMIT_H2_CLIENT_WINDOW + LIMIT_H2_OUT];
	const struct ask what = { "POST", "api.example", "/org/a", NULL, NULL };
	struct h2_peer *all[CLIENTS];

	memset(body, 'b', sizeof(body) - 1);
	begin();
	all[0] = client;
	for (int i = 1; i < CLIENTS; i++)
		all[i] = peer_new(world_connect(true), false);
	for (int i = 0; i < CLIENTS; i++) {
		client = all[i];
		for (int j = 0; j < LIMIT_H2_STREAMS; j++)
			ask(&what, body, NULL);
		for (int j = 0; j < 4; j++)
			peer_pump(client);
		CHECK(world_gate.ends.buffered <= LIMIT_BUFFERED);
	}
	CHECK(world_flows() > 0 && world_flows() < CLIENTS);
	CHECK(world_gate.ends.buffered > LIMIT_BUFFERED / 4);
	for (int i = 1; i < CLIENTS; i++)
		peer_free(all[i]);
	client = all[0];
	end();
}

static void open_and_reset(void)
{
	struct peer_stream *asked = ask(&usual, NULL, NULL);

	/* Else the library would not even send it. */
	peer_pump(client);
	peer_reset(client, asked, NGHTTP2_CANCEL);
	peer_pump(client);
}

static void flood(int kind)
{
	static const nghttp2_settings_entry none[1];

	for (int i = 0; i < 3 * LIMIT_H2_OTHERS && !client->went_away; i++) {
		if (kind == 0)
			nghttp2_submit_ping(client->session, 0, NULL);
		else if (kind == 1)
			nghttp2_submit_settings(client->session, 0, none, 0);
		else if (client->stream_count < PEER_STREAMS - 1)
			open_and_reset();
		else
			return;
		if (i % 16 == 0)
			peer_pump(client);
	}
}

static void floods_end_the_connection(void)
{
	for (int kind = 0; kind < 3; kind++) {
		begin();
		flood(kind);
		peer_settle(client, NULL);
		CHECK(client->went_away);
		CHECK(client->goaway_error == NGHTTP2_ENHANCE_YOUR_CALM);
		CHECK(client->gone);
		end();
	}
}

static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				 "\0\0\0\4\0\0\0\0\0";

static int connect_raw(void)
{
	int fd = world_connect(true);

	CHECK(send(fd, preface, sizeof(preface) - 1, 0) > 0);
	return fd;
}

static bool is_closed(int fd)
{
	char bytes[4096];
	ssize_t n;

	world_step();
	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		world_step();
	return n == 0;
}

static void heads_without_end_end_the_connection(void)
{
	/* HEADERS and CONTINUATION of stream 1, neither the last. */
	static const uint8_t first[] = "\0\0\1\1\0\0\0\0\1\x82";
	static const uint8_t more[] = "\0\0\1\x9\0\0\0\0\1\x84";
	int fd;

	world_open(RULES);
	fd = connect_raw();
	CHECK(send(fd, first, sizeof(first) - 1, 0) > 0);
	world_step();
	CHECK(!is_closed(fd));
	for (int i = 0; i < 1000; i++) {
		if (send(fd, more, sizeof(more) - 1, MSG_NOSIGNAL) < 0)
			break;
		world_step();
	}
	CHECK(is_closed(fd));
	close(fd);
	/* And so does time. */
	fd = connect_raw();
	CHECK(send(fd, first, sizeof(first) - 1, 0) > 0);
	world_step();
	CHECK(!is_closed(fd));
	world_deadline();
	CHECK(is_closed(fd));
	close(fd);
	world_step();
	CHECK(world_flows() == 0);
	CHECK(world_close());
}

static void another_protocol_ends_the_connection(void)
{
	static const char text[] =
		"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n";
	int fd;

	world_open(RULES);
	fd = world_connect(true);
	CHECK(send(fd, text, strlen(text), 0) > 0);
	CHECK(is_closed(fd));
	close(fd);
	world_step();
	CHECK(world_flows() == 0);
	CHECK(world_close());
}

/* What a client says, cut at each byte; the server answers what it got. */
static void a_client_may_be_cut_anywhere(void)
{
	static const uint8_t text[] =
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
		/* GET, http, /org/a, api.example; the end */
		"\0\0\x17\1\5\0\0\0\1\x82\x86\x44\x06/org/a\x41\x0b"
		"api.example"
		/* POST and a byte of its body */
		"\0\0\x17\1\4\0\0\0\3\x83\x86\x44\x06/org/b\x41\x0b"
		"api.example"
		"\0\0\1\0\1\0\0\0\3x";
	unsigned whole = 0;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		int fd;

		world_server_http2 = true;
		world_open(RULES);
		fd = world_connect(true);
		CHECK(send(fd, text, cut, 0) == (ssize_t)cut);
		world_step();
		if (world_server_count) {
			server = peer_new(dup(world_servers[0]), true);
			peer_settle(server, NULL);
			for (unsigned i = 0; i < server->stream_count; i++)
				peer_answer(server, &server->streams[i], ok,
					    "x", NULL);
			peer_settle(server, NULL);
			whole = server->stream_count;
		}
		shutdown(fd, SHUT_WR);
		CHECK(is_closed(fd));
		close(fd);
		peer_free(server);
		server = NULL;
		world_step();
		CHECK(world_close());
	}
	CHECK(whole == 2);
}

int main(void)
{
	RUN(another_host_is_sent_elsewhere);
	RUN(rules_hold_for_each_request);
	RUN(what_nobody_may_say_reaches_no_server);
	RUN(heads_that_are_too_long_are_refused);
	RUN(a_body_is_as_long_as_it_was_said_to_be);
	RUN(who_gives_up_is_heard_on_the_other_side);
	RUN(a_server_that_refuses_a_stream_did_nothing);
	RUN(a_response_that_breaks_off_does_not_look_whole);
	RUN(a_server_that_closes_is_a_bad_gateway);
	RUN(responses_that_break_rules_are_refused);
	RUN(an_answer_may_come_before_the_body);
	RUN(what_is_revoked_ends);
	RUN(what_is_given_up_costs_no_window);
	RUN(what_is_held_is_bounded_over_all);
	RUN(floods_end_the_connection);
	RUN(heads_without_end_end_the_connection);
	RUN(another_protocol_ends_the_connection);
	RUN(a_client_may_be_cut_anywhere);
	return DONE();
}
