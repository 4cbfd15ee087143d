/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_internal.h - what session.c and session_io.c share
 */
#pragma once

#include "base/list.h"
#include "base/loop.h"
#include "guest/cgroups.h"
#include "guest/session.h"

struct session;

/* From the program to the host. */
struct session_output {
	struct source source; /* fd owned; -1 when it has ended */
	struct session *session;
	struct mux_stream *stream; /* NULL: what is read is dropped */
	bool ending;               /* the main process is gone: */
	size_t left;               /* only so much more is read */
};

/* From the host to the program. */
struct session_input {
	struct source source; /* fd owned; -1 when closed */
	struct session *session;
	bool eof_given; /* a terminal was told the end of input */
};

struct session {
	struct sessions *sessions;
	struct list link;
	uint32_t id;
	pid_t pid;
	struct cgroup cgroup;
	bool terminal;
	bool exited;
	bool detached; /* its streams were those of an earlier epoch */
	int status;
	struct source report;      /* fd owned; -1 once the program runs */
	struct mux_stream *stdio;  /* owned; NULL when closed */
	struct mux_stream *errors; /* owned; NULL when closed or none */
	struct session_input input;
	struct session_output output, error_output;
	struct timer retry; /* a terminal that nobody has open just now */
	/* The host has not all that was written to shared folders. */
	struct timer settle;
	bool settling;
	uint32_t changes;         /* that it is waited for */
	uint64_t settle_until_ms; /* not longer */
};

/* session_io.c */
void session_io_init(struct session *session);
/* Waits for readable bytes, unless reading is paused or there is no room. */
void session_output_resume(struct session_output *output);
void session_output_pause(struct session_output *output);
/* The main process is gone: reads what is there, then ends. */
void session_output_finish(struct session_output *output);
void session_output_close(struct session_output *output);
/* Moves what the host sent on to the program. */
void session_input_feed(struct session_input *input);
void session_input_close(struct session_input *input);

/* session_settle.c */
void session_settle_init(struct session *session);
/* False: session_check_end() is called again when it may be true. */
bool session_settled(struct session *session);

/* session.c */
struct session *session_find(struct sessions *sessions, uint32_t id);
int session_open_stream(struct session *session, uint32_t id,
			struct mux_stream **stream);
/* Answers for a session that is not there. */
void sessions_say_gone(struct sessions *sessions, uint32_t id);
void session_close_streams(struct session *session, uint32_t code);
/* Sends SESSION_EXITED when all was sent; may free the session. */
void session_check_end(struct session *session);
/* Reads the report of the child; false when the session is gone. */
bool session_check_report(struct session *session);
