/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.c - the master side of a session's terminal
 */
#include "guest/pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/own.h"

int pty_open(uint16_t rows, uint16_t cols)
{
	AUTO_CLOSE int master =
		open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	int locked = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &locked) ||
	    pty_resize(master, rows ? rows : 24, cols ? cols : 80))
		return -1;
	return TAKE_FD(master);
}

int pty_number(int master)
{
	unsigned number;

	return ioctl(master, TIOCGPTN, &number) ? -1 : (int)number;
}

int pty_resize(int master, uint16_t rows, uint16_t cols)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };

	return ioctl(master, TIOCSWINSZ, &size);
}

pid_t pty_foreground(int master)
{
	pid_t group = 0;

	return ioctl(master, TIOCGPGRP, &group) ? 0 : group;
}

int pty_end_of_input(int master)
{
	struct termios mode;

	if (tcgetattr(master, &mode) || !(mode.c_lflag & ICANON))
		return -1;
	return mode.c_cc[VEOF];
}
