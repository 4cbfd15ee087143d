/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_watch.c - the questions of a running sandbox, as they come and go
 */
#include "cli/ask_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/launcher.h"
#include "cli/store.h"
#include "ipc/control.h"

#define READ_BYTES (16u * 1024)

int ask_watch_open(struct ask_watch *watch, const struct sandbox *sandbox,
		   struct error *err)
{
	struct control_client client;
	int fd = control_connect_to(sandbox->folder, CONTROL_LAUNCH_SOCKET_NAME,
				    err);

	*watch = ASK_WATCH_INIT;
	buffer_init(&watch->in, ASK_WATCH_LINE_MAX);
	if (fd < 0)
		return -1;
	control_client_init(&client, fd);
	if (control_send(&client, json_pack("{s:s}", "op", "watch-asks"), err) <
	    0) {
		control_client_release(&client);
		return -1;
	}
	watch->fd = TAKE_FD(client.fd);
	control_client_release(&client);
	return 0;
}

void ask_watch_close(struct ask_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	buffer_release(&watch->in);
	*watch = ASK_WATCH_INIT;
}

static void add(struct ask_watch *watch, struct ask ask, int64_t now_ms)
{
	ask_watch_forget(watch, ask.id);
	if (watch->count == ASKS_MAX)
		return;
	ask.ms_left += now_ms;
	watch->asks[watch->count++] = ask;
}

void ask_watch_forget(struct ask_watch *watch, uint64_t id)
{
	size_t n = 0;

	for (size_t i = 0; i < watch->count; i++)
		if (watch->asks[i].id != id)
			watch->asks[n++] = watch->asks[i];
	watch->count = n;
}

int ask_watch_line(struct ask_watch *watch, const char *line, size_t len,
		   int64_t now_ms)
{
	json_t *json = control_parse_line(line, len, NULL);
	const json_t *over = json_object_get(json, "over");
	struct ask asks[ASKS_MAX], one;
	size_t count = ask_decode_list(json_object_get(json, "asks"), asks);
	bool known = json_is_true(json_object_get(json, "ok"));

	for (size_t i = 0; i < count; i++)
		add(watch, asks[i], now_ms);
	if (ask_decode(json_object_get(json, "ask"), &one) == 0) {
		add(watch, one, now_ms);
		known = true;
	}
	if (json_is_integer(over)) {
		ask_watch_forget(watch, (uint64_t)json_integer_value(over));
		known = true;
	}
	json_decref(json);
	return known ? 0 : -1;
}

static void take_lines(struct ask_watch *watch, int64_t now_ms)
{
	const char *end;

	while (watch->in.len &&
	       (end = memchr(watch->in.data, '\n', watch->in.len))) {
		const char *line = (const char *)watch->in.data;
		size_t len = (size_t)(end - line);

		(void)ask_watch_line(watch, line, len, now_ms);
		buffer_consume(&watch->in, len + 1);
	}
}

void ask_watch_read(struct ask_watch *watch, int64_t now_ms)
{
	char bytes[READ_BYTES];
	ssize_t n = recv(watch->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && buffer_append(&watch->in, bytes, (size_t)n) == 0) {
		take_lines(watch, now_ms);
		return;
	}
	/* the machine has ended, and all questions with it */
	close(TAKE_FD(watch->fd));
	watch->count = 0;
}

bool ask_watch_front(const struct ask_watch *watch, int64_t now_ms,
		     struct ask *ask)
{
	for (size_t i = 0; i < watch->count; i++) {
		if (watch->asks[i].ms_left <= now_ms)
			continue;
		*ask = watch->asks[i];
		ask->ms_left -= now_ms;
		return true;
	}
	return false;
}

int ask_answer(const struct sandbox *sandbox, uint64_t id,
	       enum ask_choice choice, struct error *err)
{
	return launcher_ask(sandbox,
			    json_pack("{s:s, s:I, s:s}", "op", "ask-answer",
				      "id", (json_int_t)id, "verdict",
				      ask_verdict(choice)),
			    err);
}
