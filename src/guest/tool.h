/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - what bawn-init does when it is not the first process: `bawn cp`
 * and others run it in a session, with an archive on stdin or stdout
 */
#pragma once

/* The exit code; what is wrong is one line on stderr. */
int tool_run(int argc, char **argv);
