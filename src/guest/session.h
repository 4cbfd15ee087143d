/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - processes that the host started, and their streams
 *
 * A session lives from SESSION_START to SESSION_EXITED. It has ended when its
 * main process was reaped, everything that this process wrote was read, and
 * the mux has sent it; and when the host has what was written to files. What it
 * left in the background lives on in its cgroup, which is remembered until it
 * is empty.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "guest/session_child.h"
#include "proto/messages.h"

struct cgroups;
struct files;
struct mux;
struct mux_stream;

struct sessions {
	struct loop *loop;
	struct mux *mux;
	struct cgroups *cgroups;
	const struct files *files; /* borrowed */
	struct list live;          /* struct session */
	struct list leftover;      /* groups of sessions that have ended */
	unsigned leftover_count;
	struct session_child spare; /* waits for the next SESSION_START */
	struct timer tidy;          /* removes groups, makes the spare */
	unsigned tidy_ms;           /* tidy is to be started; 0 = not */
	uint64_t restored_ms;       /* when the machine began, or 0 */
	bool paused;                /* no output is read */
	bool closing;               /* the machine ends: no more spares */
	bool stuck;                 /* the host does not take messages */
};

void sessions_init(struct sessions *sessions, struct loop *loop,
		   struct mux *mux, struct cgroups *cgroups,
		   const struct files *files);

/*
 * The answer is a SESSION_STARTED, now or when the program runs. encoded is
 * the message that start was decoded from.
 */
void sessions_start(struct sessions *sessions,
		    const struct message_session_start *start,
		    const uint8_t *encoded, size_t len);
/* Forks the spare when there is none. Best effort. */
void sessions_refill(struct sessions *sessions);
/* True when a process of a session may be alive. */
bool sessions_any(const struct sessions *sessions);
/* These ignore a session that is gone: the message crossed its end. */
void sessions_signal(struct sessions *sessions, uint32_t id, uint32_t signal);
void sessions_resize(struct sessions *sessions, uint32_t id, uint16_t rows,
		     uint16_t cols);
void sessions_kill(struct sessions *sessions, uint32_t id);
/* SIGHUP to the sessions that have a terminal: shells ignore SIGTERM. */
void sessions_hang_up(struct sessions *sessions);

/* A child of PID 1 was reaped; most are orphans and nobody's main process. */
void sessions_on_exit(struct sessions *sessions, pid_t pid, int status);
/* The mux says that something changed for a stream of ours. */
void sessions_on_stream(struct sessions *sessions, struct mux_stream *stream);

/* Housekeeping; for the end of a round, when the answers have left. */
void sessions_tidy_later(struct sessions *sessions);

/* Before a snapshot: stops reading. */
void sessions_pause(struct sessions *sessions);
/* The epoch is over: sessions have no streams; what they write is not read
 * until they get new ones. */
void sessions_detach(struct sessions *sessions);
void sessions_attach(struct sessions *sessions,
		     const struct message_session_attach *attach);
void sessions_resume(struct sessions *sessions);
/* Of a machine that was just restored: others may start beside it. */
void sessions_hold_tidy(struct sessions *sessions);
