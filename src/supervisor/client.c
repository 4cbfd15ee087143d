/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - control connections: lines, then frames
 */
#include "supervisor/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "ipc/control.h"
#include "proto/cursor.h"

enum {
	READS_A_ROUND = 4,
	READ_BYTES = 65536,
	OUT_BYTES = CONTROL_LINE_MAX + 2 * CLIENT_FRAMES_ROOM,
	WINDOW_STEP = SESSION_STDIN_WINDOW / 4,
};

static void client_free(struct client *client)
{
	struct loop *loop = client->clients->loop;

	loop_del(&client->source);
	if (client->source.fd >= 0)
		close(client->source.fd);
	client->source.fd = -1;
	list_remove(&client->link);
	client->clients->count--;
	json_decref(client->request);
	client->request = NULL;
	buffer_release(&client->in);
	ring_release(&client->out);
	ring_release(&client->stdin_bytes);
	loop_defer_free(loop, client);
}

static bool client_alive(const struct client *client)
{
	return client->source.fd >= 0;
}

static void client_gone(struct client *client, bool detached)
{
	if (!client_alive(client))
		return;
	client->clients->ops->on_gone(client, detached);
	client_free(client);
}

static void update_events(struct client *client)
{
	uint32_t events = client->out.len ? EPOLLOUT : 0;

	if (client->mode == CLIENT_LINES || client->mode == CLIENT_FRAMES)
		events |= EPOLLIN;
	loop_wait_for(&client->source, events);
}

/* Writes what goes now; false when the client is gone. */
static bool client_flush(struct client *client)
{
	while (client->out.len) {
		ssize_t sent = ring_drain_to(&client->out, client->source.fd);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			break;
		if (sent < 0) {
			client_gone(client, false);
			return false;
		}
	}
	if (!client->out.len) {
		ring_trim(&client->out);
		if (client->mode == CLIENT_CLOSING) {
			client_gone(client, false);
			return false;
		}
	}
	update_events(client);
	return true;
}

static void queue(struct client *client, const void *bytes, size_t len)
{
	/* Callers asked for room; a peer that never reads loses its link. */
	if (ring_space(&client->out) < len) {
		log_limited(LOG_LEVEL_WARN, "control: a client does not read");
		client->mode = CLIENT_CLOSING;
		ring_consume(&client->out, client->out.len);
		return;
	}
	ring_write(&client->out, bytes, len);
}

static void send_answer(struct client *client, json_t *answer)
{
	AUTO_FREE char *line = control_encode_line(answer);

	json_decref(answer);
	json_decref(client->request);
	client->request = NULL;
	client->waits_for = 0;
	if (line)
		queue(client, line, strlen(line));
}

void client_answer(struct client *client, json_t *answer)
{
	send_answer(client, answer);
	if (client->mode == CLIENT_BUSY)
		client->mode = CLIENT_LINES;
	update_events(client);
}

void client_progress(struct client *client, json_t *line)
{
	AUTO_FREE char *text = control_encode_line(line);

	json_decref(line);
	if (text)
		queue(client, text, strlen(text));
	update_events(client);
}

void client_answer_session(struct client *client, json_t *answer)
{
	send_answer(client, answer);
	if (client->mode == CLIENT_BUSY)
		client->mode = CLIENT_FRAMES;
	client->stdin_window = SESSION_STDIN_WINDOW;
	update_events(client);
}

size_t client_room(const struct client *client)
{
	size_t waiting = client->out.len + SESSION_FRAME_HEADER_BYTES;

	if (client->mode != CLIENT_FRAMES)
		return 0;
	return waiting < CLIENT_FRAMES_ROOM ? CLIENT_FRAMES_ROOM - waiting : 0;
}

void client_frame(struct client *client, enum session_frame_type type,
		  const void *bytes, size_t len)
{
	struct session_frame frame = { .type = type, .len = (uint32_t)len };
	uint8_t header[SESSION_FRAME_HEADER_BYTES];

	if (client->mode != CLIENT_FRAMES)
		return;
	session_frame_encode(&frame, header);
	queue(client, header, sizeof(header));
	if (len && client->mode == CLIENT_FRAMES)
		queue(client, bytes, len);
	update_events(client);
}

void client_stdin_taken(struct client *client, size_t len)
{
	uint8_t grant[4];
	struct writer w = writer_over(grant, sizeof(grant));

	ring_consume(&client->stdin_bytes, len);
	client->ungranted += (uint32_t)len;
	if (client->ungranted < WINDOW_STEP)
		return;
	writer_u32(&w, client->ungranted);
	client->stdin_window += client->ungranted;
	client->ungranted = 0;
	client_frame(client, SESSION_FRAME_WINDOW, grant, sizeof(grant));
}

void client_finish(struct client *client)
{
	client->mode = CLIENT_CLOSING;
	/* The next round closes it, whatever the caller still does with it. */
	loop_wait_for(&client->source, EPOLLOUT);
}

static int take_stdin(struct client *client, const uint8_t *bytes, size_t len,
		      struct error *err)
{
	if (client->stdin_ended)
		return error_set(err, 0, "stdin after its end");
	if (len > client->stdin_window)
		return error_set(err, 0, "more stdin than allowed");
	client->stdin_window -= (uint32_t)len;
	if (len)
		ring_write(&client->stdin_bytes, bytes, len);
	else
		client->stdin_ended = true;
	client->clients->ops->on_stdin(client);
	return 0;
}

static int take_frame(struct client *client, const struct session_frame *frame,
		      const uint8_t *payload, struct error *err)
{
	const struct clients_ops *ops = client->clients->ops;
	struct cursor c = cursor_over(payload, frame->len);
	uint16_t rows, cols;
	uint32_t number;

	switch (frame->type) {
	case SESSION_FRAME_STDIN:
		return take_stdin(client, payload, frame->len, err);
	case SESSION_FRAME_RESIZE:
		rows = cursor_u16(&c);
		cols = cursor_u16(&c);
		if (cursor_done(&c))
			ops->on_resize(client, rows, cols);
		break;
	case SESSION_FRAME_SIGNAL:
		number = cursor_u32(&c);
		if (cursor_done(&c))
			ops->on_signal(client, number);
		break;
	case SESSION_FRAME_DETACH:
		if (cursor_done(&c))
			client_gone(client, true);
		break;
	default:
		return error_set(err, 0, "a frame of the wrong direction");
	}
	/* A client that has gone has no cursor to complain about. */
	if (!cursor_done(&c))
		return error_set(err, 0, "a frame of the wrong length");
	return 0;
}

/* 1: one frame was taken; 0: more bytes are needed; -1: broken. */
static int next_frame(struct client *client, struct error *err)
{
	struct session_frame frame;
	size_t whole;
	int result;

	if (client->in.len < SESSION_FRAME_HEADER_BYTES)
		return 0;
	if (session_frame_decode(client->in.data, &frame) < 0)
		return error_set(err, 0, "not a frame");
	whole = SESSION_FRAME_HEADER_BYTES + frame.len;
	if (client->in.len < whole)
		return 0;
	result = take_frame(client, &frame,
			    client->in.data + SESSION_FRAME_HEADER_BYTES, err);
	if (result < 0 || !client_alive(client))
		return result;
	buffer_consume(&client->in, whole);
	return 1;
}

/* 1: one request was taken; 0: more bytes are needed; -1: broken. */
static int next_line(struct client *client, struct error *err)
{
	const char *start = (const char *)client->in.data;
	const char *end =
		client->in.len ? memchr(start, '\n', client->in.len) : NULL;
	json_t *request;

	if (!end)
		return 0;
	/* The answer to this one must find room. */
	if (ring_space(&client->out) < CONTROL_LINE_MAX)
		return error_set(err, 0, "answers are not read");
	request = control_parse_line(start, (size_t)(end - start), err);
	if (!request)
		return -1;
	buffer_consume(&client->in, (size_t)(end - start) + 1);
	client->mode = CLIENT_BUSY;
	client->clients->ops->on_request(client, request);
	json_decref(request);
	return 1;
}

static void take_input(struct client *client)
{
	struct error err = { 0 };
	int result = 1;

	while (result > 0 && client_alive(client)) {
		if (client->mode == CLIENT_LINES)
			result = next_line(client, &err);
		else if (client->mode == CLIENT_FRAMES)
			result = next_frame(client, &err);
		else
			break;
	}
	if (result < 0 && client_alive(client)) {
		log_limited(LOG_LEVEL_WARN, "control: %s", err.text);
		if (client->mode == CLIENT_LINES) {
			client_answer(client,
				      control_failure(EPROTO, err.text));
			client_finish(client);
		} else {
			client_gone(client, false);
		}
	}
}

static void client_read(struct client *client)
{
	static uint8_t bytes[READ_BYTES];

	for (int i = 0; i < READS_A_ROUND && client_alive(client); i++) {
		ssize_t got;

		if (client->mode != CLIENT_LINES &&
		    client->mode != CLIENT_FRAMES)
			return;
		got = read(client->source.fd, bytes, sizeof(bytes));
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0 ||
		    buffer_append(&client->in, bytes, (size_t)got) < 0) {
			client_gone(client, false);
			return;
		}
		take_input(client);
		if ((size_t)got < sizeof(bytes))
			return;
	}
}

static void on_client(struct source *source, uint32_t events)
{
	struct client *client = CONTAINER_OF(source, struct client, source);

	if (events & EPOLLIN)
		client_read(client);
	else if (events & (EPOLLHUP | EPOLLERR))
		client_gone(client, false);
	if (!client_alive(client))
		return;
	if (!client_flush(client))
		return;
	if (client->mode == CLIENT_FRAMES && (events & EPOLLOUT))
		client->clients->ops->on_room(client);
	/* What came behind a request that has been answered by now. */
	if (client_alive(client) && client->in.len)
		take_input(client);
}

static void on_listener(struct source *source, uint32_t events)
{
	struct clients *clients =
		CONTAINER_OF(source, struct clients, listener);
	struct error err;
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (control_check_peer(fd, clients->owner, &err) < 0) {
		log_limited(LOG_LEVEL_WARN, "control: %s", err.text);
		close(fd);
		return;
	}
	if (!clients_add(clients, fd, NULL, 0, &err))
		log_limited(LOG_LEVEL_WARN, "control: %s", err.text);
}

int clients_open(struct clients *clients, struct loop *loop, int listen_fd,
		 uid_t owner, const struct clients_ops *ops, void *ctx,
		 struct error *err)
{
	*clients = (struct clients){
		.ops = ops,
		.ctx = ctx,
		.loop = loop,
		.owner = owner,
		.listener = { .name = "control socket",
			      .fd = listen_fd,
			      .events = EPOLLIN,
			      .on_event = on_listener },
	};
	list_init(&clients->all);
	if (listen_fd < 0)
		return 0;
	return loop_add(loop, &clients->listener, err);
}

struct client *clients_add(struct clients *clients, int fd, const void *bytes,
			   size_t len, struct error *err)
{
	AUTO_CLOSE int owned = fd;
	struct client *client;

	if (clients->count >= CLIENTS_MAX) {
		error_set(err, EAGAIN, "too many connections");
		return NULL;
	}
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		error_set(err, errno, "control connection");
		return NULL;
	}
	client = xcalloc(1, sizeof(*client));
	client->clients = clients;
	client->source = (struct source){ .name = "control connection",
					  .fd = fd,
					  .events = EPOLLIN,
					  .on_event = on_client };
	buffer_init(&client->in, CONTROL_LINE_MAX + READ_BYTES);
	ring_init(&client->out, OUT_BYTES);
	ring_init(&client->stdin_bytes, SESSION_STDIN_WINDOW);
	list_init(&client->session_link);
	if (loop_add(clients->loop, &client->source, err) < 0) {
		free(client);
		return NULL;
	}
	list_append(&clients->all, &client->link);
	clients->count++;
	(void)TAKE_FD(owned);
	if (len && buffer_append(&client->in, bytes, len) == 0)
		take_input(client);
	return client;
}

void clients_stop_listening(struct clients *clients)
{
	loop_del(&clients->listener);
}

bool clients_flushed(const struct clients *clients)
{
	LIST_FOR_EACH(node, &clients->all) {
		if (LIST_ENTRY(node, struct client, link)->out.len)
			return false;
	}
	return true;
}

void clients_close(struct clients *clients)
{
	clients_stop_listening(clients);
	LIST_FOR_EACH(node, &clients->all) {
		client_free(LIST_ENTRY(node, struct client, link));
	}
}
