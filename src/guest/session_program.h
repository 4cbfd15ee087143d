/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_program.h - a forked child becomes the program of its session
 */
#pragma once

#include "proto/messages.h"

/*
 * The child's end of the report pipe, close-on-exec: it gets a struct
 * session_report when the program cannot be run.
 */
#define SESSION_PROGRAM_REPORT_FD 4

/*
 * 0, 1, 2 are pipes; those that the session does not want are replaced.
 * terminal is the number of a pty, -1 = none.
 */
_Noreturn void session_program_run(const struct message_session_start *start,
				   int terminal);
