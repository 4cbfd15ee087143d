/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ask.c - a question about the network over an agent's session
 *
 * While it is on the screen the session's connection is not read, so that
 * nothing of the guest's gets to the terminal. Afterwards the session is joined
 * anew, and what the supervisor draws then is the agent's screen as it is by
 * then; what was held is part of that picture. The old connection is kept until
 * the new one is there: if the session has ended, it has the exit code.
 */
#include <errno.h>
#include <poll.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/client.h"
#include "cli/relay_internal.h"
#include "cli/store.h"
#include "ipc/control.h"

#define PICTURE_MAX (64u * 1024)
#define TICK_MS 1000
#define WRITE_MS 2000

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* To the terminal; one that takes nothing for long does without. */
static void put(const struct relay *relay, const struct buffer *bytes)
{
	struct pollfd wait = { relay->outputs[0].fd, POLLOUT, 0 };
	size_t at = 0;

	while (at < bytes->len && poll(&wait, 1, WRITE_MS) > 0) {
		ssize_t n = write(wait.fd, bytes->data + at, bytes->len - at);

		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

static void draw(struct relay *relay, bool again)
{
	AUTO_BUFFER struct buffer picture = BUFFER_INIT(PICTURE_MAX);
	const struct relay_ask *ask = relay->setup->ask;
	struct ask_view view = { .sandbox = ask->sandbox->record.name,
				 .mark = ask->mark,
				 .more = ask->watch.count - 1,
				 .again = again,
				 .ready = ask_keys_ready(&relay->answer,
							 now_ms()) };

	terminal_size(1, &view.rows, &view.cols);
	ask_screen_draw(&relay->asked, &view, &picture);
	put(relay, &picture);
	relay->drawn_ms = now_ms();
	relay->drawn_ready = view.ready;
}

int relay_ask_fd(const struct relay *relay)
{
	const struct relay_ask *ask = relay->setup->ask;

	return ask && relay->raw && !relay->finished ? ask->watch.fd : -1;
}

/* When the picture is to be drawn again: each second, and when keys count. */
int relay_ask_timeout(const struct relay *relay)
{
	int64_t now = now_ms(), left;

	if (!relay->asking)
		return -1;
	left = relay->drawn_ms + TICK_MS - now;
	if (relay->drawn_ready != ask_keys_ready(&relay->answer, now))
		return 0;
	if (!relay->drawn_ready && relay->answer.ready_ms - now < left)
		left = relay->answer.ready_ms - now;
	return left > 0 ? (int)left : 0;
}

static void begin(struct relay *relay)
{
	bool first = !relay->asking;

	relay->asking = true;
	/* the picture that comes afterwards has it */
	if (first)
		ring_consume(&relay->outputs[0].ring,
			     relay->outputs[0].ring.len);
	relay->keys = (struct terminal_keys){ 0 };
	tcflush(0, TCIFLUSH);
	ask_keys_begin(&relay->answer, now_ms());
	draw(relay, false);
	/* drawing may have taken time: the pause begins when it is to be seen
	 */
	ask_keys_begin(&relay->answer, now_ms());
}

static void leave(struct relay *relay)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(PICTURE_MAX);

	relay->asking = false;
	ask_screen_leave(&bytes);
	put(relay, &bytes);
	tcflush(0, TCIFLUSH);
}

static void join_anew(struct relay *relay)
{
	struct control_client *control = relay->setup->control, fresh;
	struct error err = { 0 };
	int fd = control_connect(relay->setup->ask->sandbox->folder, &err);

	if (fd < 0) {
		log_debug("no redraw: %s", err.text);
		return;
	}
	control_client_init(&fresh, fd);
	if (client_join(&fresh, &err) < 0) {
		/* it has ended: the old connection tells how */
		control_client_release(&fresh);
		return;
	}
	relay_frames_send(&relay->frames, SESSION_FRAME_DETACH, NULL, 0);
	relay_frames_flush_all(&relay->frames);
	relay_frames_release(&relay->frames);
	control_client_release(control);
	*control = fresh;
	relay_frames_init(&relay->frames, control);
}

bool relay_ask_step(struct relay *relay, bool told)
{
	struct relay_ask *ask = relay->setup->ask;
	bool was_asking = relay->asking;
	struct ask front;

	if (relay_ask_fd(relay) < 0 && !was_asking)
		return false;
	if (told)
		ask_watch_read(&ask->watch, now_ms());
	if (!relay->finished &&
	    ask_watch_front(&ask->watch, now_ms(), &front)) {
		bool same = was_asking && front.id == relay->asked.id;

		relay->asked = front;
		if (!same)
			begin(relay);
		else if (!relay_ask_timeout(relay))
			draw(relay, true);
		return true;
	}
	if (!was_asking)
		return false;
	leave(relay);
	if (!relay->finished)
		join_anew(relay);
	return true;
}

void relay_ask_typed(struct relay *relay, const uint8_t *typed, size_t len)
{
	struct relay_ask *ask = relay->setup->ask;
	struct error err = { 0 };
	enum ask_choice choice =
		ask_keys_take(&relay->answer, typed, len, now_ms());

	if (choice == ASK_NONE)
		return;
	/* ENOENT: it came too late. Anything else may work the next time. */
	if (ask_answer(ask->sandbox, relay->asked.id, choice, &err) == 0 ||
	    err.code == ENOENT)
		ask_watch_forget(&ask->watch, relay->asked.id);
}

void relay_ask_resized(struct relay *relay)
{
	if (relay->asking)
		draw(relay, false);
}

void relay_ask_stop(struct relay *relay)
{
	if (relay->asking)
		leave(relay);
}
