/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - raw mode, size, and the keys that let go
 */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

#define CTRL_P 0x10
#define CTRL_Q 0x11

static struct termios saved_mode;
static volatile sig_atomic_t raw_fd = -1;

void terminal_restore(void)
{
	int fd = raw_fd;

	if (fd < 0)
		return;
	raw_fd = -1;
	tcsetattr(fd, TCSADRAIN, &saved_mode);
}

static void on_fatal(int number)
{
	terminal_restore();
	signal(number, SIG_DFL);
	raise(number);
}

/* A handler that somebody set before knows better. */
static void restore_on(int number)
{
	struct sigaction old, action = { .sa_handler = on_fatal };

	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

int terminal_raw(int fd, struct error *err)
{
	static const int fatal[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				     SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
				     SIGILL,  SIGUSR1, SIGUSR2, SIGALRM };
	static bool registered;
	struct termios mode;

	if (raw_fd >= 0)
		return 0;
	if (tcgetattr(fd, &saved_mode) < 0)
		return error_set(err, errno, "terminal");
	if (!registered)
		atexit(terminal_restore);
	registered = true;
	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		restore_on(fatal[i]);
	mode = saved_mode;
	cfmakeraw(&mode);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	raw_fd = fd;
	if (tcsetattr(fd, TCSADRAIN, &mode) < 0) {
		raw_fd = -1;
		return error_set(err, errno, "terminal");
	}
	return 0;
}

void terminal_reset_modes(int fd)
{
	/* main screen, cursor, keypad, mouse, focus, paste, colours */
	static const char reset[] = "\033[?1047l\033[?25h\033[?1l\033>"
				    "\033[?9l\033[?1000l\033[?1002l"
				    "\033[?1003l\033[?1004l\033[?1005l"
				    "\033[?1006l\033[?1015l\033[?2004l"
				    "\033[0m\r\n";

	if (isatty(fd) && write(fd, reset, sizeof(reset) - 1) < 0)
		return;
}

void terminal_size(int fd, uint16_t *rows, uint16_t *cols)
{
	struct winsize size;

	*rows = 24;
	*cols = 80;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_row)
		*rows = size.ws_row;
	if (size.ws_col)
		*cols = size.ws_col;
}

bool terminal_keys_filter(struct terminal_keys *keys, const uint8_t *in,
			  size_t len, uint8_t *out, size_t *out_len)
{
	size_t n = 0;
	bool let_go = false;

	for (size_t i = 0; i < len && !let_go; i++) {
		if (keys->held && in[i] == CTRL_Q) {
			let_go = true;
			continue;
		}
		if (keys->held)
			out[n++] = CTRL_P;
		keys->held = in[i] == CTRL_P;
		if (!keys->held)
			out[n++] = in[i];
	}
	*out_len = n;
	return let_go;
}
