/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - session frames and our stdin, stdout, stderr
 *
 * One poll() over the connection, the three descriptors and the signals.
 * Our descriptors are shared with the shell that started us, so O_NONBLOCK is
 * never set on them: outputs that may block are opened once more by
 * /proc/self/fd, where the flag is ours alone. What an output has not taken
 * waits in a ring; while a ring has no room for a frame, the connection is not
 * read, and the guest's process waits in turn.
 */
#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/relay_internal.h"
#include "ipc/control.h"

#define OUTPUT_BYTES (256u * 1024)
#define READ_BYTES (16u * 1024)
#define BROKEN_PIPE_CODE (128 + SIGPIPE)
/* so many Ctrl-C that the guest's process did not obey end the command */
#define INTERRUPTS_MAX 3

static void output_open(struct output *output, int fd)
{
	char path[32];
	struct stat st;

	*output = (struct output){ .fd = fd };
	ring_init(&output->ring, OUTPUT_BYTES);
	if (fstat(fd, &st) < 0) {
		output->gone = true;
		return;
	}
	output->may_wait = !S_ISREG(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return;
	text_format(path, sizeof(path), "/proc/self/fd/%d", fd);
	output->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	output->own = output->fd >= 0;
	if (!output->own)
		output->fd = fd;
}

static void output_close(struct output *output)
{
	if (output->own)
		close(output->fd);
	ring_release(&output->ring);
}

/* Writes once what the descriptor takes; a dead reader makes it `gone`. */
static void output_flush(struct output *output)
{
	struct iovec iov[2];
	ssize_t n;

	if (!output->ring.len)
		return;
	if (output->gone) {
		ring_consume(&output->ring, output->ring.len);
		return;
	}
	ring_readable(&output->ring, iov);
	/* a descriptor that we share and that blocks gets what a pipe takes */
	if (output->may_wait && !output->own && iov[0].iov_len > PIPE_BUF)
		iov[0].iov_len = PIPE_BUF;
	n = write(output->fd, iov[0].iov_base, iov[0].iov_len);
	if (n >= 0)
		ring_consume(&output->ring, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		output->gone = true;
}

static bool outputs_have_room(const struct relay *relay)
{
	for (size_t i = 0; i < ARRAY_SIZE(relay->outputs); i++)
		if (!relay->outputs[i].gone &&
		    ring_space(&relay->outputs[i].ring) < SESSION_FRAME_MAX)
			return false;
	return true;
}

static bool outputs_empty(const struct relay *relay)
{
	return (relay->outputs[0].gone || !relay->outputs[0].ring.len) &&
	       (relay->outputs[1].gone || !relay->outputs[1].ring.len);
}

static void finish(struct relay *relay, enum client_end end, int code)
{
	relay->finished = true;
	relay->result->end = end;
	relay->result->exit_code = code;
}

static int take_output(struct relay *relay, struct output *output,
		       const struct relay_frame *frame, struct error *err)
{
	const struct relay_filter *filter = relay->setup->filter;
	uint8_t changed[SESSION_FRAME_MAX];
	const uint8_t *bytes = frame->bytes;
	size_t len = frame->len;

	if (filter) {
		long kept;

		memcpy(changed, bytes, len);
		kept = filter->take(filter->ctx, output == &relay->outputs[1],
				    changed, len, err);
		if (kept < 0)
			return -1;
		bytes = changed;
		len = (size_t)kept;
	}
	if (!output->gone)
		ring_write(&output->ring, bytes, len);
	if (len)
		relay->last_byte = bytes[len - 1];
	output_flush(output);
	return 0;
}

/* Takes whole frames out of what was received, as long as outputs have room. */
static int take_frames(struct relay *relay, struct error *err)
{
	struct relay_frame frame;
	int got;

	while (outputs_have_room(relay)) {
		got = relay_frames_next(&relay->frames, &frame, err);
		if (got <= 0)
			return got;
		switch (frame.type) {
		case SESSION_FRAME_STDOUT:
			got = take_output(relay, &relay->outputs[0], &frame,
					  err);
			break;
		case SESSION_FRAME_STDERR:
			got = take_output(relay, &relay->outputs[1], &frame,
					  err);
			break;
		case SESSION_FRAME_EXIT:
			relay->connection_open = false;
			finish(relay, CLIENT_EXITED, frame.exit_code);
			return 0;
		default:
			break;
		}
		if (got < 0)
			return -1;
	}
	return 0;
}

static int read_connection(struct relay *relay, struct error *err)
{
	if (relay_frames_receive(&relay->frames, err) < 0)
		return -1;
	return take_frames(relay, err);
}

static void let_go(struct relay *relay)
{
	relay_frames_send(&relay->frames, SESSION_FRAME_DETACH, NULL, 0);
	relay_frames_flush_all(&relay->frames);
	finish(relay, CLIENT_DETACHED, 0);
}

static void read_stdin(struct relay *relay)
{
	uint8_t typed[READ_BYTES], bytes[READ_BYTES + 1];
	size_t room = relay_frames_stdin_room(&relay->frames), len;
	ssize_t n;

	if (room > sizeof(typed) || relay->asking)
		room = sizeof(typed);
	/* a held Ctrl-P may come out with what follows it */
	n = read(0, typed, room > 1 ? room - 1 : 0);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && relay->asking) {
		relay_ask_typed(relay, typed, (size_t)n);
		return;
	}
	if (n <= 0) {
		relay->stdin_open = false;
		relay_frames_send(&relay->frames, SESSION_FRAME_STDIN, NULL, 0);
		return;
	}
	if (!relay->setup->tty || !relay->setup->may_detach) {
		relay_frames_send(&relay->frames, SESSION_FRAME_STDIN, typed,
				  (size_t)n);
		return;
	}
	if (terminal_keys_filter(&relay->keys, typed, (size_t)n, bytes, &len))
		let_go(relay);
	else if (len)
		relay_frames_send(&relay->frames, SESSION_FRAME_STDIN, bytes,
				  len);
}

static void on_interrupt(struct relay *relay, int number)
{
	/*
	 * A terminal in raw mode sends keys; a signal means: go away. Who
	 * filters does not wait for what the guest makes of it either.
	 */
	relay->interrupts++;
	if (relay->setup->tty || relay->setup->filter ||
	    relay->interrupts >= INTERRUPTS_MAX)
		finish(relay, CLIENT_EXITED, 128 + number);
	else
		relay_frames_send_u32(&relay->frames, SESSION_FRAME_SIGNAL,
				      (uint32_t)number);
}

static void read_signal(struct relay *relay)
{
	struct signalfd_siginfo info;
	uint16_t rows, cols;

	if (read(relay->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT) {
		on_interrupt(relay, (int)info.ssi_signo);
		return;
	}
	if (!relay->setup->tty)
		return;
	/* a shell that took the terminal back has changed its mode */
	if (info.ssi_signo == SIGCONT && relay->raw) {
		terminal_restore();
		terminal_raw(0, NULL);
	}
	terminal_size(isatty(1) ? 1 : 0, &rows, &cols);
	relay_frames_send_size(&relay->frames, rows, cols);
	relay_ask_resized(relay);
}

static bool wants_stdin(const struct relay *relay)
{
	return relay->stdin_open && !relay->finished &&
	       (relay->asking || relay_frames_stdin_room(&relay->frames) > 1);
}

/* One round; -1 when the session is lost. */
static int step(struct relay *relay, struct error *err)
{
	enum { CONNECTION, SIGNALS, STDIN, STDOUT, STDERR, ASKS, COUNT };
	struct pollfd polls[COUNT] = {
		[CONNECTION] = { relay->setup->control->fd, 0, 0 },
		[SIGNALS] = { relay->signals, POLLIN, 0 },
		[STDIN] = { wants_stdin(relay) ? 0 : -1, POLLIN, 0 },
		[ASKS] = { relay_ask_fd(relay), POLLIN, 0 },
	};

	if (relay->connection_open && !relay->asking &&
	    outputs_have_room(relay))
		polls[CONNECTION].events |= POLLIN;
	if (relay_frames_waiting(&relay->frames))
		polls[CONNECTION].events |= POLLOUT;
	if (!polls[CONNECTION].events)
		polls[CONNECTION].fd = -1;
	for (int i = 0; i < 2; i++) {
		const struct output *output = &relay->outputs[i];

		polls[STDOUT + i].fd = output->ring.len ? output->fd : -1;
		polls[STDOUT + i].events = POLLOUT;
	}
	if (poll(polls, COUNT, relay_ask_timeout(relay)) < 0)
		return errno == EINTR ? 0 : error_set(err, errno, "poll");
	for (int i = 0; i < 2; i++)
		if (polls[STDOUT + i].revents)
			output_flush(&relay->outputs[i]);
	if (polls[SIGNALS].revents)
		read_signal(relay);
	if (polls[STDIN].revents)
		read_stdin(relay);
	if (polls[CONNECTION].revents & POLLOUT)
		relay_frames_flush(&relay->frames);
	/* a session that was joined anew: frames that came with the answer */
	if (relay_ask_step(relay, polls[ASKS].revents != 0))
		return relay->asking || relay->finished
			       ? 0
			       : take_frames(relay, err);
	if (polls[CONNECTION].revents & (POLLIN | POLLHUP | POLLERR))
		return read_connection(relay, err);
	/* frames that waited for room in an output */
	return relay->finished ? 0 : take_frames(relay, err);
}

static int block_signals(struct relay *relay, struct error *err)
{
	static const int caught[] = { SIGINT,  SIGTERM,  SIGHUP,
				      SIGQUIT, SIGWINCH, SIGCONT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, &relay->old_mask);
	relay->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (relay->signals < 0)
		return error_set(err, errno, "signalfd");
	return 0;
}

static int run(struct relay *relay, struct error *err)
{
	/* what came together with the answer */
	if (take_frames(relay, err) < 0)
		return -1;
	while (!relay->finished)
		if (step(relay, err) < 0 && !relay->finished)
			return -1;
		else if (relay->outputs[0].gone && !relay->finished)
			finish(relay, CLIENT_EXITED, BROKEN_PIPE_CODE);
	/* the last words, also to a slow reader; Ctrl-C ends the wait */
	while (!outputs_empty(relay) && relay->result->end == CLIENT_EXITED) {
		unsigned before = relay->interrupts;
		int code = relay->result->exit_code;

		relay->connection_open = false;
		if (step(relay, NULL) < 0 || relay->interrupts != before)
			break;
		relay->result->exit_code = code;
	}
	return 0;
}

int relay_run(const struct relay_setup *setup, struct client_result *result,
	      struct error *err)
{
	struct relay relay = { .setup = setup,
			       .signals = -1,
			       .connection_open = true,
			       .stdin_open = setup->forward_stdin,
			       .result = result };
	int failed;

	relay.raw = setup->tty && setup->forward_stdin && isatty(0);
	if (block_signals(&relay, err) < 0)
		return -1;
	relay_frames_init(&relay.frames, setup->control);
	output_open(&relay.outputs[0], 1);
	output_open(&relay.outputs[1], 2);
	failed = relay.raw ? terminal_raw(0, err) : 0;
	if (!failed)
		failed = run(&relay, err);
	relay_ask_stop(&relay);
	terminal_restore();
	/* as a shell does it after "^C" */
	if (relay.raw && !failed && result->exit_code == 128 + SIGINT &&
	    relay.last_byte != '\n' && write(1, "\n", 1) < 0)
		failed = error_set(err, errno, "terminal");
	if (relay.raw && (failed || result->end == CLIENT_DETACHED))
		terminal_reset_modes(1);
	output_close(&relay.outputs[0]);
	output_close(&relay.outputs[1]);
	relay_frames_release(&relay.frames);
	close(relay.signals);
	sigprocmask(SIG_SETMASK, &relay.old_mask, NULL);
	return failed;
}
