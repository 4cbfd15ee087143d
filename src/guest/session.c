/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - processes that the host started, and their streams
 *
 * The start of a small program is what users wait for, and system calls are
 * dear under emulation: children and groups are made ahead and groups removed
 * later (`tidy`), the child finds out everything about users and folders, and
 * the answers of one round of the loop leave in one write.
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
#include "guest/session_internal.h"
#include "proto/mux.h"

/* After an end, nobody waits; after a start, somebody does. */
#define TIDY_AFTER_END_MS 20
#define TIDY_AFTER_START_MS 500
#define TIDY_AGAIN_MS 30000
#define TIDY_HOLD_MS 2000
#define GROUPS_AT_ONCE 4
#define GROUPS_MANY 8
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

void sessions_refill(struct sessions *sessions)
{
	if (sessions->spare.pid > 0 || sessions->paused || sessions->closing)
		return;
	if (session_child_fork(&sessions->spare, sessions->cgroups))
		log_limited(LOG_LEVEL_DEBUG, "no spare child");
}

static void drop_spare(struct sessions *sessions)
{
	session_child_close(&sessions->spare);
	if (cgroup_remove(sessions->cgroups, &sessions->spare.cgroup))
		close(sessions->spare.cgroup.fd);
	sessions->spare = SESSION_CHILD_NONE;
	sessions->tidy_ms = TIDY_AFTER_END_MS;
}

bool sessions_any(const struct sessions *sessions)
{
	if (!list_empty(&sessions->live))
		return true;
	LIST_FOR_EACH(node, &sessions->leftover) {
		if (cgroup_is_used(
			    &LIST_ENTRY(node, struct leftover, link)->cgroup))
			return true;
	}
	return false;
}

/* The dear part of it waits in the kernel: a few at a time. */
static void remove_groups(struct sessions *sessions, unsigned count)
{
	for (; count && !list_empty(&sessions->leftover); count--) {
		struct leftover *rest = LIST_ENTRY(sessions->leftover.next,
						   struct leftover, link);

		list_remove(&rest->link);
		if (cgroup_remove(sessions->cgroups, &rest->cgroup)) {
			list_append(&sessions->leftover, &rest->link);
			continue;
		}
		sessions->leftover_count--;
		free(rest);
	}
}

static void on_tidy(struct timer *timer)
{
	struct sessions *sessions = CONTAINER_OF(timer, struct sessions, tidy);
	unsigned before = sessions->leftover_count;

	if (sessions->paused)
		return; /* the wake starts it again */
	sessions_refill(sessions);
	remove_groups(sessions, GROUPS_AT_ONCE);
	if (!sessions->leftover_count)
		return;
	/* The last process in the background may not be our child to reap. */
	timer_start(sessions->loop, timer,
		    sessions->leftover_count < before ? TIDY_AFTER_END_MS
						      : TIDY_AGAIN_MS);
}

void sessions_init(struct sessions *sessions, struct loop *loop,
		   struct mux *mux, struct cgroups *cgroups,
		   const struct files *files)
{
	*sessions = (struct sessions){ .loop = loop,
				       .mux = mux,
				       .cgroups = cgroups,
				       .files = files,
				       .spare = SESSION_CHILD_NONE };
	sessions->tidy =
		(struct timer){ .name = "tidy cgroups", .on_fire = on_tidy };
	list_init(&sessions->live);
	list_init(&sessions->leftover);
}

void sessions_tidy_later(struct sessions *sessions)
{
	if (!sessions->tidy_ms)
		return;
	/* Others may just start beside this machine: that comes first. */
	if (sessions->restored_ms && sessions->tidy_ms < TIDY_HOLD_MS &&
	    loop_now_ms() - sessions->restored_ms < TIDY_HOLD_MS)
		sessions->tidy_ms = TIDY_HOLD_MS;
	/* A storm of short sessions moves the timer on and on. */
	if (sessions->leftover_count > GROUPS_MANY)
		remove_groups(sessions, 2);
	timer_start(sessions->loop, &sessions->tidy, sessions->tidy_ms);
	sessions->tidy_ms = 0;
}

struct session *session_find(struct sessions *sessions, uint32_t id)
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

void session_close_streams(struct session *session, uint32_t code)
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
	timer_stop(&session->settle);
	session_close_streams(session, code);
	list_remove(&session->link);
	rest->id = session->id;
	rest->cgroup = session->cgroup;
	list_append(&sessions->leftover, &rest->link);
	sessions->leftover_count++;
	sessions->tidy_ms = TIDY_AFTER_END_MS;
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

	if (!session->exited || session->detached ||
	    session->output.source.fd >= 0 ||
	    session->error_output.source.fd >= 0 || !all_sent(session->stdio) ||
	    !all_sent(session->errors) || !session_settled(session))
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

void sessions_say_gone(struct sessions *sessions, uint32_t id)
{
	struct message message = {
		.type = MESSAGE_SESSION_EXITED,
		.session_exited = { .session = id, .status = SIGHUP },
	};

	send(sessions, &message);
}

int session_open_stream(struct session *session, uint32_t id,
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

	if (session_open_stream(session, start->stdio_stream, &session->stdio))
		return -1;
	if (!session->terminal &&
	    session_open_stream(session, start->stderr_stream,
				&session->errors))
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
			 const struct message_session_start *start)
{
	int master = pty_open(start->rows, start->cols);

	if (master < 0)
		return -1;
	session->output.source.fd = master;
	/* A second number, so that each direction is watched by itself. */
	session->input.source.fd = fcntl(master, F_DUPFD_CLOEXEC, 3);
	return session->input.source.fd < 0 ? -1 : pty_number(master);
}

static void take_pipes(struct session *session,
		       const struct message_session_start *start,
		       struct session_child *child)
{
	if ((start->flags & SESSION_STDIN) && session->stdio)
		session->input.source.fd = TAKE_FD(child->in);
	if (session->output.stream)
		session->output.source.fd = TAKE_FD(child->out);
	if (session->error_output.stream)
		session->error_output.source.fd = TAKE_FD(child->err);
}

static int take_child(struct sessions *sessions, struct session_child *child)
{
	*child = sessions->spare;
	sessions->spare = SESSION_CHILD_NONE;
	sessions->tidy_ms = TIDY_AFTER_START_MS;
	if (child->pid > 0)
		return 0;
	return session_child_fork(child, sessions->cgroups);
}

static int watch(struct session *session)
{
	struct error err;

	if (loop_add(session->sessions->loop, &session->report, &err)) {
		errno = err.code;
		return -1;
	}
	session_output_resume(&session->output);
	session_output_resume(&session->error_output);
	return 0;
}

static int launch(struct session *session,
		  const struct message_session_start *start,
		  const uint8_t *encoded, size_t len)
{
	struct session_child child;
	int terminal = -1, failed;

	if (session->terminal && !start->stdio_stream) {
		errno = EINVAL;
		return -1;
	}
	if (open_streams(session, start))
		return -1;
	if (session->terminal) {
		terminal = open_terminal(session, start);
		if (terminal < 0)
			return -1;
	}
	if (take_child(session->sessions, &child))
		return -1;
	session->pid = child.pid;
	session->cgroup = child.cgroup;
	session->report.fd = TAKE_FD(child.report);
	if (!session->terminal)
		take_pipes(session, start, &child);
	failed = session_child_run(&child, encoded, len, terminal) ||
		 watch(session);
	if (failed) {
		failed = errno;
		cgroup_kill(&session->cgroup);
	}
	session_child_close(&child);
	errno = failed;
	return failed ? -1 : 0;
}

void sessions_start(struct sessions *sessions,
		    const struct message_session_start *start,
		    const uint8_t *encoded, size_t len)
{
	struct session_report failure = { SESSION_STAGE_OTHER, EEXIST };
	struct session *session;

	if (session_find(sessions, start->session)) {
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
	session_settle_init(session);
	session_io_init(session);
	list_append(&sessions->live, &session->link);
	if (launch(session, start, encoded, len)) {
		failure.error = (uint32_t)errno;
		send_started(sessions, session->id, 0, &failure);
		forget(session, failure.error);
	}
}

void sessions_kill(struct sessions *sessions, uint32_t id)
{
	struct session *session = session_find(sessions, id);

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

void sessions_on_exit(struct sessions *sessions, pid_t pid, int status)
{
	if (pid == sessions->spare.pid) {
		drop_spare(sessions); /* somebody in the guest killed it */
		return;
	}
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
	/* An orphan, maybe the last process of a session that has ended. */
	if (sessions->leftover_count && !sessions->tidy_ms)
		sessions->tidy_ms = TIDY_AFTER_START_MS;
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
