/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - processes that the host started, and their streams
 *
 * The start of a small program is what users wait for, and system calls are
 * dear under emulation: groups are made ahead and removed later (`tidy`), the
 * child finds out everything about users and folders, and the answers of one
 * round of the loop leave in one write.
 */
#include "guest/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "guest/pty.h"
#include "guest/session_child.h"
#include "guest/session_internal.h"
#include "proto/mux.h"

#define TIDY_MS 50
#define TIDY_AGAIN_MS 1000
#define SIGNAL_MAX 64
#define MESSAGE_BYTES 64 /* more than any of ours takes */

struct leftover {
	struct list link;
	uint32_t id;
	struct cgroup cgroup;
};

static void send(struct sessions *sessions, const struct message *message)
{
	uint8_t bytes[MESSAGE_BYTES];
	long len = message_encode(message, bytes, sizeof(bytes));

	if (len < 0 || mux_send_message(sessions->mux, bytes, (size_t)len))
		sessions->stuck = true;
}

static void send_started(struct sessions *sessions, uint32_t id, pid_t pid,
			 const struct session_report *report)
{
	struct message message = {
		.type = MESSAGE_SESSION_STARTED,
		.session_started = { .session = id,
				     .pid = (uint32_t)pid,
				     .error = report->error,
				     .stage = report->stage },
	};

	send(sessions, &message);
}

static void on_tidy(struct timer *timer)
{
	struct sessions *sessions = CONTAINER_OF(timer, struct sessions, tidy);

	cgroups_refill(sessions->cgroups);
	LIST_FOR_EACH(node, &sessions->leftover) {
		struct leftover *rest = LIST_ENTRY(node, struct leftover, link);

		if (cgroup_remove(sessions->cgroups, &rest->cgroup))
			continue;
		list_remove(&rest->link);
		free(rest);
	}
	/* Nothing tells us when the last process in the background ends. */
	if (!list_empty(&sessions->leftover))
		timer_start(sessions->loop, &sessions->tidy, TIDY_AGAIN_MS);
}

void sessions_init(struct sessions *sessions, struct loop *loop,
		   struct mux *mux, struct cgroups *cgroups)
{
	*sessions = (struct sessions){ .loop = loop,
				       .mux = mux,
				       .cgroups = cgroups };
	sessions->tidy =
		(struct timer){ .name = "tidy cgroups", .on_fire = on_tidy };
	list_init(&sessions->live);
	list_init(&sessions->leftover);
}

void sessions_tidy_later(struct sessions *sessions)
{
	if (!sessions->untidy)
		return;
	sessions->untidy = false;
	timer_start(sessions->loop, &sessions->tidy, TIDY_MS);
}

static struct session *find(struct sessions *sessions, uint32_t id)
{
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		if (session->id == id)
			return session;
	}
	return NULL;
}

static void close_stream(struct mux_stream **stream, uint32_t code)
{
	if (*stream)
		mux_stream_close(*stream, code);
	*stream = NULL;
}

static void close_streams(struct session *session, uint32_t code)
{
	session->output.stream = NULL;
	session->error_output.stream = NULL;
	close_stream(&session->stdio, code);
	close_stream(&session->errors, code);
}

static void close_report(struct session *session)
{
	loop_del(&session->report);
	if (session->report.fd >= 0)
		close(session->report.fd);
	session->report.fd = -1;
}

/* The group stays on record until it is empty. */
static void forget(struct session *session, uint32_t code)
{
	struct sessions *sessions = session->sessions;
	struct leftover *rest = xcalloc(1, sizeof(*rest));

	close_report(session);
	session_input_close(&session->input);
	session_output_close(&session->output);
	session_output_close(&session->error_output);
	timer_stop(&session->retry);
	close_streams(session, code);
	list_remove(&session->link);
	rest->id = session->id;
	rest->cgroup = session->cgroup;
	list_append(&sessions->leftover, &rest->link);
	sessions->untidy = true;
	loop_defer_free(sessions->loop, session);
}

static bool all_sent(const struct mux_stream *stream)
{
	return !stream || (stream->our_eof && stream->out.len == 0);
}

void session_check_end(struct session *session)
{
	struct message message = {
		.type = MESSAGE_SESSION_EXITED,
		.session_exited = { .session = session->id,
				    .status = (uint32_t)session->status },
	};

	if (!session->exited || session->output.source.fd >= 0 ||
	    session->error_output.source.fd >= 0 || !all_sent(session->stdio) ||
	    !all_sent(session->errors))
		return;
	send(session->sessions, &message);
	forget(session, 0);
}

bool session_check_report(struct session *session)
{
	struct session_report report = { 0 };
	ssize_t n;

	if (session->report.fd < 0)
		return true;
	n = read(session->report.fd, &report, sizeof(report));
	if (n < 0)
		return true; /* not yet */
	close_report(session);
	if (n == 0) {
		send_started(session->sessions, session->id, session->pid,
			     &report);
		return true;
	}
	send_started(session->sessions, session->id, 0, &report);
	forget(session, report.error);
	return false;
}

static void on_report(struct source *source, uint32_t events)
{
	session_check_report(CONTAINER_OF(source, struct session, report));
}

static int open_stream(struct session *session, uint32_t id,
		       struct mux_stream **stream)
{
	if (!id)
		return 0;
	*stream = mux_stream_open(session->sessions->mux, id, session);
	if (*stream)
		return 0;
	errno = mux_stream_find(session->sessions->mux, id) ? EEXIST : EMFILE;
	return -1;
}

static int open_streams(struct session *session,
			const struct message_session_start *start)
{
	bool output = !(start->flags & SESSION_NO_OUTPUT);

	if (open_stream(session, start->stdio_stream, &session->stdio))
		return -1;
	if (!session->terminal &&
	    open_stream(session, start->stderr_stream, &session->errors))
		return -1;
	if (output || session->terminal) {
		session->output.stream = session->stdio;
		session->error_output.stream = session->errors;
		return 0;
	}
	if (session->stdio)
		mux_stream_eof(session->stdio);
	if (session->errors)
		mux_stream_eof(session->errors);
	return 0;
}

static int open_terminal(struct session *session,
			 const struct message_session_start *start,
			 struct session_child *child)
{
	int master = pty_open(start->rows, start->cols);

	if (master < 0)
		return -1;
	child->terminal = session->output.source.fd = master;
	/* A second number, so that each direction is watched by itself. */
	session->input.source.fd = fcntl(master, F_DUPFD_CLOEXEC, 3);
	return session->input.source.fd < 0 ? -1 : 0;
}

/* Our end does not block; the program's end is as programs expect it. */
static int open_pipe(int *ours, int *theirs, int our_side)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	*ours = ends[our_side];
	*theirs = ends[!our_side];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int open_pipes(struct session *session,
		      const struct message_session_start *start,
		      struct session_child *child)
{
	if ((start->flags & SESSION_STDIN) && session->stdio &&
	    open_pipe(&session->input.source.fd, &child->in, 1))
		return -1;
	if (session->output.stream &&
	    open_pipe(&session->output.source.fd, &child->out, 0))
		return -1;
	if (session->error_output.stream &&
	    open_pipe(&session->error_output.source.fd, &child->err, 0))
		return -1;
	return 0;
}

static void close_child_ends(const struct session_child *child)
{
	const int ends[] = { child->in, child->out, child->err, child->report };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (ends[i] >= 0)
			close(ends[i]);
	}
}

static int launch(struct session *session, struct session_child *child)
{
	struct sessions *sessions = session->sessions;
	struct error err;

	if (child->terminal < 0 && child->out >= 0 && child->err < 0)
		child->err = fcntl(child->out, F_DUPFD_CLOEXEC, 3);
	sessions->untidy = true;
	session->cgroup = cgroups_take(sessions->cgroups);
	child->cgroup = session->cgroup;
	session->pid = session_child_start(child);
	if (session->pid < 0)
		return -1;
	if (loop_add(sessions->loop, &session->report, &err)) {
		cgroup_kill(&session->cgroup);
		errno = err.code;
		return -1;
	}
	session_output_resume(&session->output);
	session_output_resume(&session->error_output);
	return 0;
}

static int prepare_and_launch(struct session *session,
			      const struct message_session_start *start,
			      struct session_child *child)
{
	if (session->terminal && !start->stdio_stream) {
		errno = EINVAL;
		return -1;
	}
	if (open_streams(session, start) ||
	    open_pipe(&session->report.fd, &child->report, 0))
		return -1;
	if (session->terminal ? open_terminal(session, start, child)
			      : open_pipes(session, start, child))
		return -1;
	return launch(session, child);
}

void sessions_start(struct sessions *sessions,
		    const struct message_session_start *start)
{
	struct session_child child = { .start = start,
				       .in = -1,
				       .out = -1,
				       .err = -1,
				       .terminal = -1,
				       .report = -1 };
	struct session_report failure = { SESSION_STAGE_OTHER, EEXIST };
	struct session *session;

	if (find(sessions, start->session)) {
		send_started(sessions, start->session, 0, &failure);
		return;
	}
	session = xcalloc(1, sizeof(*session));
	session->sessions = sessions;
	session->id = start->session;
	session->cgroup.fd = -1;
	session->terminal = start->flags & SESSION_PTY;
	session->report = (struct source){ .name = "session report",
					   .fd = -1,
					   .events = EPOLLIN,
					   .on_event = on_report };
	session_io_init(session);
	list_append(&sessions->live, &session->link);
	if (prepare_and_launch(session, start, &child)) {
		failure.error = (uint32_t)errno;
		send_started(sessions, session->id, 0, &failure);
		forget(session, failure.error);
	}
	close_child_ends(&child);
}

void sessions_signal(struct sessions *sessions, uint32_t id, uint32_t number)
{
	struct session *session = find(sessions, id);
	pid_t group = 0;

	if (!session || session->exited || number == 0 || number > SIGNAL_MAX)
		return;
	if (session->terminal && session->output.source.fd >= 0)
		group = pty_foreground(session->output.source.fd);
	/* Until the child has called setsid() there is no such group. */
	if (kill(-(group > 1 ? group : session->pid), (int)number))
		kill(session->pid, (int)number);
}

void sessions_resize(struct sessions *sessions, uint32_t id, uint16_t rows,
		     uint16_t cols)
{
	struct session *session = find(sessions, id);

	if (session && session->terminal && session->output.source.fd >= 0)
		pty_resize(session->output.source.fd, rows, cols);
}

void sessions_kill(struct sessions *sessions, uint32_t id)
{
	struct session *session = find(sessions, id);

	if (session) {
		cgroup_kill(&session->cgroup);
		return;
	}
	LIST_FOR_EACH(node, &sessions->leftover) {
		struct leftover *rest = LIST_ENTRY(node, struct leftover, link);

		if (rest->id == id)
			cgroup_kill(&rest->cgroup);
	}
}

void sessions_hang_up(struct sessions *sessions)
{
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		if (session->terminal && !session->exited)
			kill(session->pid, SIGHUP);
	}
}

void sessions_on_exit(struct sessions *sessions, pid_t pid, int status)
{
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		if (session->pid != pid || session->exited)
			continue;
		session->exited = true;
		session->status = status;
		if (!session_check_report(session))
			return;
		/* Killed before exec: an empty pipe that is still open. */
		close_report(session);
		session_input_close(&session->input);
		session_input_feed(&session->input);
		session_output_finish(&session->output);
		session_output_finish(&session->error_output);
		session_check_end(session);
		return;
	}
}

/* CLOSE is the host's hang-up. */
static void stream_lost(struct session *session, struct mux_stream *stream)
{
	if (stream == session->stdio) {
		session->output.stream = NULL;
		close_stream(&session->stdio, 0);
		session_input_close(&session->input);
		session_output_close(&session->output);
		timer_stop(&session->retry);
	} else {
		session->error_output.stream = NULL;
		close_stream(&session->errors, 0);
		session_output_close(&session->error_output);
	}
	session_check_end(session);
}

void sessions_on_stream(struct sessions *sessions, struct mux_stream *stream)
{
	struct session *session = stream->owner;

	if (stream->closed) {
		stream_lost(session, stream);
		return;
	}
	if (stream == session->stdio) {
		session_input_feed(&session->input);
		session_output_resume(&session->output);
	} else {
		mux_stream_take(stream, stream->in.len); /* not for us */
		session_output_resume(&session->error_output);
	}
	session_check_end(session);
}

void sessions_pause(struct sessions *sessions)
{
	sessions->paused = true;
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		session_output_pause(&session->output);
		session_output_pause(&session->error_output);
	}
}

void sessions_detach(struct sessions *sessions)
{
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		close_streams(session, ECONNRESET);
		if (!session->terminal)
			session_input_close(&session->input);
	}
}

void sessions_resume(struct sessions *sessions)
{
	sessions->paused = false;
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		session_output_resume(&session->output);
		session_output_resume(&session->error_output);
		session_check_end(session);
	}
}
