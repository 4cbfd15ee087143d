/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_control.c - what is done to sessions from outside: signals, window
 * sizes, and the pause around a snapshot
 */
#include "guest/session.h"

#include <errno.h>
#include <signal.h>

#include "base/loop.h"
#include "guest/pty.h"
#include "guest/session_internal.h"
#include "proto/mux.h"

#define SIGNAL_MAX 64
#define TIDY_AFTER_WAKE_MS 1000

void sessions_signal(struct sessions *sessions, uint32_t id, uint32_t number)
{
	struct session *session = session_find(sessions, id);
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
	struct session *session = session_find(sessions, id);

	if (session && session->terminal && session->output.source.fd >= 0)
		pty_resize(session->output.source.fd, rows, cols);
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

		session->detached = true;
		session_close_streams(session, ECONNRESET);
		if (!session->terminal)
			session_input_close(&session->input);
	}
}

static void attach_output(struct session_output *output,
			  struct mux_stream *stream)
{
	output->stream = stream;
	if (output->source.fd < 0) {
		if (stream)
			mux_stream_eof(stream);
	} else if (output->session->exited) {
		session_output_finish(output);
	} else {
		session_output_resume(output);
	}
}

void sessions_attach(struct sessions *sessions,
		     const struct message_session_attach *attach)
{
	struct session *session = session_find(sessions, attach->session);

	if (!session || !session->detached) {
		sessions_say_gone(sessions, attach->session);
		return;
	}
	session->detached = false;
	session_open_stream(session, attach->stdio_stream, &session->stdio);
	if (!session->terminal)
		session_open_stream(session, attach->stderr_stream,
				    &session->errors);
	attach_output(&session->output, session->stdio);
	attach_output(&session->error_output, session->errors);
	session_check_end(session);
}

void sessions_hold_tidy(struct sessions *sessions)
{
	sessions->restored_ms = loop_now_ms();
}

void sessions_resume(struct sessions *sessions)
{
	sessions->paused = false;
	sessions->tidy_ms = TIDY_AFTER_WAKE_MS; /* a spare may be missing */
	LIST_FOR_EACH(node, &sessions->live) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		session_output_resume(&session->output);
		session_output_resume(&session->error_output);
		session_check_end(session);
	}
}
