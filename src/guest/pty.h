/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.h - the master side of a session's terminal
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A new unlocked master, non-blocking; -1 with errno. The caller closes it. */
int pty_open(uint16_t rows, uint16_t cols);
/* N of the terminal's name /dev/pts/N; -1 with errno. */
int pty_number(int master);
int pty_resize(int master, uint16_t rows, uint16_t cols);
/* Foreground process group of the terminal; 0 when there is none. */
pid_t pty_foreground(int master);
/* The byte that means end of input to a reader of lines; -1 = raw reader. */
int pty_end_of_input(int master);
