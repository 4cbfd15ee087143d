/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_turn.c - one program in the sandbox of a loop, watched until it ends
 *
 * A program that must end gets SIGTERM, since agents clean up then; whoever is
 * left some seconds later goes with its cgroup when the connection closes, also
 * tools that an agent started in sessions of their own.
 */
#include "cli/loop_turn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/own.h"
#include "cli/command.h"
#include "cli/keys.h"
#include "cli/relay_frames.h"
#include "cli/session.h"
#include "cli/start.h"

#define TICK_MS 1000
#define FAREWELL_MS 5000

int loop_signals_open(struct loop_signals *signals, struct error *err)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		if (sigaction(caught[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN) /* nohup */
			sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals->fd < 0 ? error_set(err, errno, "signalfd") : 0;
}

void loop_signals_close(struct loop_signals *signals)
{
	if (signals->fd >= 0)
		close(TAKE_FD(signals->fd));
}

void loop_signals_read(struct loop_signals *signals)
{
	struct signalfd_siginfo info;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info))
		/* only a key can be pressed once more */
		signals->wishes += info.ssi_signo == SIGINT ? 1 : 2;
}

struct watch {
	const struct loop_turn *turn;
	struct engine_turn *end;
	struct relay_frames frames;
	int fd;
	const char *input;
	size_t input_left;
	bool input_ended, exited, leaving;
	uint64_t begun_ms, heard_ms, leave_ms, tick_ms;
};

static void send_input(struct watch *watch)
{
	size_t room = relay_frames_stdin_room(&watch->frames);

	if (room > watch->input_left)
		room = watch->input_left;
	if (room)
		relay_frames_send(&watch->frames, SESSION_FRAME_STDIN,
				  watch->input, room);
	watch->input += room;
	watch->input_left -= room;
	if (watch->input_left || watch->input_ended)
		return;
	watch->input_ended = true;
	relay_frames_send(&watch->frames, SESSION_FRAME_STDIN, NULL, 0);
}

static void leave(struct watch *watch, enum engine_end end)
{
	if (watch->leaving)
		return;
	watch->leaving = true;
	watch->leave_ms = loop_now_ms();
	watch->end->end = end;
	relay_frames_send_u32(&watch->frames, SESSION_FRAME_SIGNAL, SIGTERM);
}

static int take_frames(struct watch *watch, struct error *err)
{
	const struct loop_turn *turn = watch->turn;
	struct relay_frame frame;
	int got = 0;

	while (!watch->exited &&
	       (got = relay_frames_next(&watch->frames, &frame, err)) > 0) {
		if (frame.type == SESSION_FRAME_STDOUT ||
		    frame.type == SESSION_FRAME_STDERR) {
			turn->on_output(turn->ctx,
					frame.type == SESSION_FRAME_STDERR,
					frame.bytes, frame.len);
			if (!turn->is_waiting || !turn->is_waiting(turn->ctx))
				watch->heard_ms = loop_now_ms();
		} else if (frame.type == SESSION_FRAME_EXIT) {
			watch->exited = true;
			watch->end->exit_code = frame.exit_code;
		}
	}
	return got < 0 ? -1 : 0;
}

/* What the time says. */
static void check_time(struct watch *watch)
{
	const struct loop_turn *turn = watch->turn;
	unsigned wishes = turn->signals->wishes;
	uint64_t now = loop_now_ms();

	loop_signals_read(turn->signals);
	if (turn->on_wish && !wishes && turn->signals->wishes == 1)
		turn->on_wish(turn->ctx);
	if (turn->signals->wishes >= 2)
		leave(watch, ENGINE_TURN_STOPPED);
	else if (turn->limit_ms && now - watch->begun_ms >= turn->limit_ms)
		leave(watch, ENGINE_TURN_OVERDUE);
	else if (turn->idle_ms && now - watch->heard_ms >= turn->idle_ms)
		leave(watch, ENGINE_TURN_SILENT);
	if (turn->on_tick && now - watch->tick_ms >= TICK_MS) {
		watch->tick_ms = now;
		turn->on_tick(turn->ctx);
	}
}

static bool is_over(const struct watch *watch)
{
	return watch->exited ||
	       (watch->leaving &&
		loop_now_ms() - watch->leave_ms >= FAREWELL_MS);
}

static int step(struct watch *watch, struct error *err)
{
	struct pollfd polls[2] = {
		{ watch->fd, POLLIN, 0 },
		{ watch->turn->signals->fd, POLLIN, 0 },
	};

	send_input(watch);
	if (relay_frames_waiting(&watch->frames))
		polls[0].events |= POLLOUT;
	if (poll(polls, 2, TICK_MS) < 0 && errno != EINTR)
		return error_set(err, errno, "poll");
	if (polls[0].revents & POLLOUT)
		relay_frames_flush(&watch->frames);
	if (polls[0].revents & (POLLIN | POLLHUP | POLLERR) &&
	    relay_frames_receive(&watch->frames, err) < 0)
		return -1;
	if (take_frames(watch, err) < 0)
		return -1;
	if (!watch->exited)
		check_time(watch);
	return 0;
}

static int watch_session(struct watch *watch, struct error *err)
{
	int failed = take_frames(watch, err);

	while (failed == 0 && !is_over(watch))
		failed = step(watch, err);
	return failed;
}

/* Opens the session; once more when the sandbox was just being stopped. */
static int open_session(const struct loop_turn *turn, struct start *start,
			struct error *err)
{
	const struct session_wish wish = { .variables = turn->variables,
					   .keys = turn->keys,
					   .user = turn->user,
					   .forward_stdin = true };
	bool has_keys = json_array_size(turn->keys) > 0;
	int result;

	do {
		start_release(start);
		if (start_sandbox(turn->sandbox, NULL,
				  has_keys ? START_WAIT : START_NO_WAIT, start,
				  err) < 0 ||
		    (has_keys && keys_tell(turn->sandbox, turn->keys, err) < 0))
			return -1;
		result = session_open(turn->sandbox, start, turn->argv, &wish,
				      err);
	} while (result < 0 && start_was_ending(turn->sandbox, start, err));
	return result;
}

int loop_turn_run(const struct loop_turn *turn, struct engine_turn *end,
		  struct error *err)
{
	AUTO_START struct start start = START_INIT;
	struct watch watch = { .turn = turn,
			       .end = end,
			       .input = turn->input,
			       .input_left = strlen(turn->input) };
	int result = open_session(turn, &start, err);

	if (result == COMMAND_NOT_FOUND || result == COMMAND_NOT_EXECUTABLE) {
		end->end = ENGINE_TURN_MISSING;
		end->exit_code = -result;
		return 0;
	}
	if (result < 0)
		return -1;
	end->end = ENGINE_TURN_EXITED;
	watch.fd = start.control.fd;
	watch.begun_ms = watch.heard_ms = loop_now_ms();
	relay_frames_init(&watch.frames, &start.control);
	result = watch_session(&watch, err);
	relay_frames_release(&watch.frames);
	return result;
}
