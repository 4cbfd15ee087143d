/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_peer.h - a peer of HTTP/2 that a test plays, and what it saw
 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_STREAMS 256

struct peer_stream {
	int32_t id;
	char head[2048]; /* "name: value\n" of all heads, "--\n" behind each */
	char body[256];  /* its first bytes */
	size_t body_len;
	size_t untaken; /* bytes that were not granted again */
	bool ended, closed;
	uint32_t error;
	/* to be sent */
	const char *text; /* NULL: `count` times x */
	size_t count;
	const char *trailer; /* value of x-trailer, or NULL */
	bool held;           /* nothing more now; see peer_go_on() */
};

struct h2_peer {
	nghttp2_session *session;
	int fd;
	bool is_server;
	bool holds; /* what comes is not taken, until peer_take() */
	bool gone, went_away;
	uint32_t goaway_error;
	struct peer_stream streams[PEER_STREAMS];
	unsigned stream_count;
};

/* Takes fd. */
struct h2_peer *peer_new(int fd, bool is_server);
void peer_free(struct h2_peer *peer);
/* Sends and receives what it can; the world is for the caller to step. */
void peer_pump(struct h2_peer *peer);
/* Lets both sides and the world settle. other may be NULL. */
void peer_settle(struct h2_peer *peer, struct h2_peer *other);

/*
 * fields: name, value, ..., NULL. text: the body, NULL: none; with a trailer
 * behind it, or NULL. Returns the stream.
 */
struct peer_stream *peer_ask(struct h2_peer *peer, const char *const *fields,
			     const char *text, const char *trailer);
void peer_answer(struct h2_peer *peer, struct peer_stream *stream,
		 const char *const *fields, const char *text,
		 const char *trailer);
/* An interim one. */
void peer_inform(struct h2_peer *peer, struct peer_stream *stream,
		 const char *status);
/* With `count` bytes, which may be more than memory could hold. */
void peer_answer_bytes(struct h2_peer *peer, struct peer_stream *stream,
		       size_t count);
/* Another piece of a body that is held. */
void peer_go_on(struct h2_peer *peer, struct peer_stream *stream,
		const char *text, bool last);
void peer_reset(struct h2_peer *peer, const struct peer_stream *stream,
		uint32_t error);
/* Grants what came so far. */
void peer_take(struct h2_peer *peer);
