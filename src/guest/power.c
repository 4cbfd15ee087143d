/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power.c - the end of the machine
 */
#include "guest/power.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"

#define KILL_WAIT_MS 1000

void power_ask_all(void)
{
	/* Everybody but us. */
	kill(-1, SIGTERM);
	kill(-1, SIGCONT);
}

static void kill_all(void)
{
	uint64_t deadline = loop_now_ms() + KILL_WAIT_MS;
	struct timespec pause = { .tv_nsec = 2000000 };

	kill(-1, SIGKILL);
	while (loop_now_ms() < deadline) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return;
		if (pid == 0)
			nanosleep(&pause, NULL);
	}
}

void power_sync(void)
{
	AUTO_CLOSE int root = open("/", O_RDONLY | O_CLOEXEC);

	if (root < 0 || syncfs(root))
		log_warn("the disk was not written out: %s", strerror(errno));
}

static void clean_disk(void)
{
	AUTO_CLOSE int root = -1;

	power_sync();
	if (!mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL))
		return;
	/* Something holds a file open for writing; a frozen disk is clean. */
	root = open("/", O_RDONLY | O_CLOEXEC);
	if (root < 0 || ioctl(root, FIFREEZE, 0))
		log_warn("the disk stays in use: %s", strerror(errno));
}

_Noreturn void power_off(void)
{
	kill_all();
	clean_disk();
	reboot(RB_POWER_OFF);
	/* No such thing on this machine: the host takes a reset for the end. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
