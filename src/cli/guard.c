/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - --rm: the sandbox goes, also when a signal ends the command
 *
 * A signal may come in the middle of anything, so that nothing can be undone
 * here. Instead this program is executed anew to do it: execve() is one of the
 * few calls that a handler may make, it drops our locks and connections, and
 * what runs then is an ordinary command.
 */
#include "cli/guard.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"

static char sandbox_name[80];
static char exit_code[8];

static void on_signal(int number)
{
	char *const argv[] = { "bawn", "__remove", sandbox_name, exit_code,
			       NULL };
	int code = 128 + number;

	exit_code[0] = (char)('0' + code / 100);
	exit_code[1] = (char)('0' + code / 10 % 10);
	exit_code[2] = (char)('0' + code % 10);
	exit_code[3] = '\0';
	terminal_restore();
	execve("/proc/self/exe", argv, environ);
	_exit(code);
}

void guard_remove(const char *name)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old, action = { .sa_handler = on_signal };

	text_copy(sandbox_name, sizeof(sandbox_name), name);
	/* the second Ctrl-C must not end the removal */
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaddset(&action.sa_mask, caught[i]);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		if (sigaction(caught[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN) /* nohup */
			sigaction(caught[i], &action, NULL);
}
