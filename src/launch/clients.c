/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.c - requests of the CLI on launch.sock
 */
#include "launch/clients_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "ipc/control.h"
#include "launch/keeper_files.h"
#include "launch/keeper_net.h"

enum {
	LABEL_MAX = 200,
};

static void drop(struct client *client)
{
	struct clients *clients = client->clients;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (clients->list[i] == client)
			clients->list[i] = NULL;
	}
	/* There is room for another one. */
	loop_wait_for(&clients->listener, EPOLLIN);
	loop_del(&client->source);
	timer_stop(&client->timeout);
	close(client->source.fd);
	json_decref(client->bound);
	/* It may hold keys of a session. */
	secret_wipe(client->in.data, client->in.len);
	buffer_release(&client->in);
	loop_defer_free(clients->loop, client);
}

/* False: it has gone, or does not read. */
static bool send_line(struct client *client, json_t *json)
{
	AUTO_FREE char *line = control_encode_line(json);
	ssize_t n;

	json_decref(json);
	if (!line)
		return false;
	n = send(client->source.fd, line, strlen(line),
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	return n == (ssize_t)strlen(line);
}

/* An answer fits any socket's buffer. */
void client_answer(struct client *client, json_t *json)
{
	if (!send_line(client, json))
		log_debug("the client has gone");
	drop(client);
}

void client_refuse(struct client *client, int code, const char *text)
{
	client_answer(client, control_failure(code, text));
}

void client_send(struct client *client, json_t *json)
{
	if (!send_line(client, json))
		drop(client);
}

void client_wait(struct client *client, enum waits_for what)
{
	client->waits_for = what;
	timer_start(client->clients->loop, &client->timeout, CLIENT_ANSWER_MS);
}

static void on_timeout(struct timer *timer)
{
	struct client *client = CONTAINER_OF(timer, struct client, timeout);

	client_refuse(client, ETIMEDOUT,
		      client->waits_for == WAITS_FOR_SHARES
			      ? "the sandbox did not mount it within 10 s"
			      : "no answer within 10 s");
}

static void handle_status(struct client *client, json_t *json)
{
	const struct keeper *files = &client->clients->files->keeper;
	const struct keeper *net = &client->clients->net->keeper;
	bool trouble =
		net->life == KEEPER_WAITING || net->life == KEEPER_GIVEN_UP;
	json_t *ok = control_ok();

	json_object_set_new(ok, "files_pid", json_integer(files->child.pid));
	json_object_set_new(ok, "restarts", json_integer(files->restarts));
	json_object_set_new(ok, "net_pid", json_integer(net->child.pid));
	json_object_set_new(ok, "net_restarts", json_integer(net->restarts));
	json_object_set_new(ok, "net",
			    json_string(keeper_life_name(net->life)));
	json_object_set_new(ok, "net_error",
			    trouble ? json_string(net->why) : json_null());
	client_answer(client, ok);
}

bool clients_busy(const struct clients *clients, enum waits_for what)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (clients->list[i] && clients->list[i]->waits_for == what)
			return true;
	}
	return false;
}

static void handle_shares(struct client *client, json_t *json)
{
	struct clients *clients = client->clients;
	json_t *files = json_object_get(json, "files");
	size_t count = json_array_size(json_object_get(files, "shares"));

	if (count < 1 || count > KEEPER_SHARES_MAX) {
		client_refuse(client, EINVAL,
			      "files: a list of 1 to 64 shares");
		return;
	}
	if (clients_busy(clients, WAITS_FOR_SHARES)) {
		client_refuse(client, EBUSY,
			      "another command changes the shares");
		return;
	}
	client_wait(client, WAITS_FOR_SHARES);
	keeper_files_change(clients->files, json_incref(files));
}

static void handle_mark(struct client *client, json_t *json)
{
	struct clients *clients = client->clients;
	const char *label = json_string_value(json_object_get(json, "label"));

	if (!label || !label[0] || strlen(label) > LABEL_MAX ||
	    strpbrk(label, "\r\n")) {
		client_refuse(client, EINVAL,
			      "a label is one line, 1 to 200 bytes");
		return;
	}
	if (clients_busy(clients, WAITS_FOR_MARK)) {
		client_refuse(client, EBUSY, "another command sets a mark");
		return;
	}
	client_wait(client, WAITS_FOR_MARK);
	if (keeper_files_mark(clients->files, label) < 0)
		client_refuse(client, ESRCH, "no folder is shared");
}

static void handle_forget(struct client *client, json_t *json)
{
	keeper_files_forget(client->clients->files);
	client_answer(client, control_ok());
}

static void on_request(struct client *client, json_t *json)
{
	static const struct {
		const char *op;
		void (*handle)(struct client *client, json_t *json);
	} requests[] = {
		{ "status", handle_status },
		{ "shares", handle_shares },
		{ "mark", handle_mark },
		{ "forget", handle_forget },
		{ "net", client_net },
		{ "ports", client_ports },
		{ "keys", client_keys },
		{ "asks", client_asks },
		{ "ask-answer", client_ask_answer },
		{ "watch-asks", client_watch_asks },
	};
	const char *op = json_string_value(json_object_get(json, "op"));

	for (size_t i = 0; op && i < ARRAY_SIZE(requests); i++) {
		if (strcmp(requests[i].op, op) == 0) {
			requests[i].handle(client, json);
			return;
		}
	}
	client_refuse(client, ENOSYS, "unknown request");
}

static void on_line(struct client *client, size_t len)
{
	struct error err = { 0 };
	json_t *json =
		control_parse_line((const char *)client->in.data, len, &err);

	if (!json) {
		client_refuse(client, EINVAL, err.text);
		return;
	}
	/* The second request of a connection waits for ever. */
	loop_wait_for(&client->source, 0);
	timer_stop(&client->timeout);
	on_request(client, json);
	json_decref(json);
}

static void on_event(struct source *source, uint32_t events)
{
	struct client *client = CONTAINER_OF(source, struct client, source);
	char bytes[16384];
	const char *newline;
	ssize_t n;

	/* It has asked, and goes before it has heard the answer. */
	if (client->waits_for != WAITS_FOR_REQUEST) {
		drop(client);
		return;
	}
	n = recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || buffer_append(&client->in, bytes, (size_t)n) < 0) {
		drop(client);
		return;
	}
	newline = memchr(client->in.data, '\n', client->in.len);
	if (newline)
		on_line(client,
			(size_t)(newline - (const char *)client->in.data));
}

/* CLIENTS_MAX: there is none. */
static size_t free_place(const struct clients *clients)
{
	size_t i = 0;

	while (i < CLIENTS_MAX && clients->list[i])
		i++;
	return i;
}

static void add(struct clients *clients, int fd)
{
	struct client *client = xcalloc(1, sizeof(*client));
	size_t i = free_place(clients);

	*client = (struct client){
		.clients = clients,
		.source = { .name = "launch client",
			    .fd = fd,
			    .events = EPOLLIN,
			    .on_event = on_event },
		.in = BUFFER_INIT(CONTROL_LINE_MAX),
		.timeout = { .name = "client", .on_fire = on_timeout },
	};
	if (loop_add(clients->loop, &client->source, NULL) < 0) {
		drop(client);
		return;
	}
	clients->list[i] = client;
	timer_start(clients->loop, &client->timeout, CLIENT_ANSWER_MS);
}

static void on_accept(struct source *source, uint32_t events)
{
	struct clients *clients =
		CONTAINER_OF(source, struct clients, listener);
	AUTO_CLOSE int fd = -1;
	struct error err;

	/* More of them wait in the socket's own queue. */
	if (free_place(clients) == CLIENTS_MAX) {
		loop_wait_for(source, 0);
		return;
	}
	fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	if (control_check_peer(fd, getuid(), &err) < 0) {
		log_limited(LOG_LEVEL_WARN, "%s", err.text);
		return;
	}
	add(clients, TAKE_FD(fd));
}

int clients_open(struct clients *clients, int fd, struct error *err)
{
	clients->listener = (struct source){ .name = "launch socket",
					     .fd = fd,
					     .events = EPOLLIN,
					     .on_event = on_accept };
	return loop_add(clients->loop, &clients->listener, err);
}

static void shares_changed_for(struct client *client)
{
	const struct keeper_files *files = client->clients->files;
	const struct keeper *keeper = &files->keeper;

	if (keeper->refused[0])
		client_refuse(client, EINVAL, keeper->refused);
	else if (keeper->life == KEEPER_GIVEN_UP)
		client_refuse(client, EIO, keeper->why);
	else if (keeper_files_settled(files))
		client_answer(client, control_ok());
}

void clients_keeper_changed(struct clients *clients)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = clients->list[i];

		if (client && client->waits_for == WAITS_FOR_SHARES)
			shares_changed_for(client);
		else if (client && (client->waits_for == WAITS_FOR_NET ||
				    client->waits_for == WAITS_FOR_PORTS))
			client_net_changed(client);
		else if (client && client->waits_for == WAITS_FOR_KEYS)
			client_keys_changed(client);
	}
}

void clients_marked(struct clients *clients, const char *why)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = clients->list[i];

		if (!client || client->waits_for != WAITS_FOR_MARK)
			continue;
		if (why)
			client_refuse(client, EIO, why);
		else
			client_answer(client, control_ok());
	}
}

void clients_close(struct clients *clients)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (clients->list[i])
			drop(clients->list[i]);
	}
	loop_del(&clients->listener);
	close(clients->listener.fd);
}
