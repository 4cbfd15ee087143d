/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_keeper.h - runs the Docker engine once, and speaks for it if it fails
 *
 * A process of its own: it may wait, PID 1 may not. Clients that are in the
 * queue of an engine that could not start get an answer that says where to
 * look; without it they would wait, and each would start it again.
 */
#pragma once

struct engine_keeper {
	int listener;        /* of /var/run/docker.sock, not blocking */
	const char *program; /* takes the socket as LISTEN_FDS says */
	const char *log;     /* its output is added there */
	/* How long one that failed is spoken for; one command of the client
	   connects several times. */
	unsigned answer_ms;
};

/* In a process that was made for it. */
_Noreturn void engine_keeper_run(const struct engine_keeper *keeper);
