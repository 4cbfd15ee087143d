/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.h - one end of a connection, whatever it is made of
 *
 * A stream of the port, a socket, a TLS layer over another end: who moves or
 * parses bytes does not know which. Bytes are looked at where they lie and
 * taken when they were used, so nothing is lost when the other side is full;
 * what is not taken is what holds the sender up.
 *
 * Nothing here calls back before it returns: on_event comes from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct address;
struct end;
struct error;
struct loop;
struct mux_stream;

typedef void end_fn(struct end *end);

struct end_ops {
	/* Reads into the buffer of the end; NULL: bytes come by themselves. */
	void (*fill)(struct end *end);
	int (*peek)(const struct end *end, struct iovec iov[2]);
	void (*take)(struct end *end, size_t len);
	/* Past the buffer, which is empty; NULL: it cannot. As readv(). */
	bool (*readable)(const struct end *end);
	ssize_t (*read)(struct end *end, const struct iovec *iov, int count);
	size_t (*space)(const struct end *end);
	size_t (*write)(struct end *end, const void *bytes, size_t len);
	/* Where bytes to be sent can be read to; NULL: nowhere. */
	int (*room)(struct end *end, size_t want, struct iovec iov[2]);
	void (*filled)(struct end *end, size_t len);
	bool (*drained)(const struct end *end);
	void (*finish)(struct end *end);
	void (*close)(struct end *end, int code);
};

struct end {
	const struct end_ops *ops;
	/*
	 * Something changed: it is connected, bytes came, there is room, eof,
	 * error. May close any end, this one too.
	 */
	end_fn *on_event;
	void *owner;         /* for the user of the end */
	struct end *upper;   /* made of this one, which is its owner; or NULL */
	bool connected;      /* a socket that is being connected is not */
	bool http2;          /* they agreed to speak it, not HTTP/1 */
	bool eof;            /* nothing follows what can be looked at */
	bool finished;       /* end_finish() was called */
	bool verified;       /* TLS: the server proved its name, see trust.h */
	int error;           /* errno: gone both ways, close it */
	const char *problem; /* more about an error (static), or NULL */
};

/* What all ends of this process share. */
struct ends {
	struct loop *loop;
	size_t buffered; /* bytes of memory in buffers of sockets */
	size_t count;    /* sockets */
};

/* Takes in what came. Before looking for more than end_peek() gave. */
void end_fill(struct end *end);
/* What came and was not taken, as up to 2 pieces; 0: nothing. */
int end_peek(const struct end *end, struct iovec iov[2]);
size_t end_available(const struct end *end);
/*
 * The same as one piece: where it lies, or copied together into scratch.
 * At most size bytes; valid until the end is used again.
 */
const uint8_t *end_gather(const struct end *end, void *scratch, size_t size,
			  size_t *len);
void end_take(struct end *end, size_t len);
/* How many bytes end_write() takes now. */
size_t end_space(const struct end *end);
size_t end_write(struct end *end, const void *bytes, size_t len);
/* All that was written has left; so has the end of file. */
bool end_drained(const struct end *end);
/* No more writes; end of file follows the last byte. */
void end_finish(struct end *end);
/*
 * Gives the end up, and frees it when the round is over. With a code (errno)
 * the other side sees a reset; 0 is an orderly end. NULL is ignored.
 */
void end_close(struct end *end, int code);
/*
 * Moves bytes until one of the two has no more or no room, or about `budget`
 * bytes went. End of file is passed on. Returns how many bytes.
 */
size_t end_move(struct end *from, struct end *to, size_t budget);

/* A stream of the port; taken. Its owner becomes the end. */
struct end *end_stream_new(struct ends *ends, struct mux_stream *stream);
/* From the mux's callback of that stream. */
void end_stream_on_change(struct mux_stream *stream);

/* A connected stream socket of any family; fd is taken, also on failure. */
struct end *end_socket_adopt(struct ends *ends, int fd, const char *name,
			     struct error *err);
/* Begins to connect; on_event tells the result. */
struct end *end_socket_connect(struct ends *ends, const struct address *address,
			       uint16_t port, struct error *err);
