/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halt.c - end a sandbox's machine
 *
 * The supervisor is asked. One that does not answer is killed: QEMU dies with
 * it. It is killed by the pid that holds the lock, never by a pid read from a
 * file alone: that pid may belong to somebody else by now, and the file is
 * written by a process that reads a guest's bytes.
 */
#include "cli/halt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "ipc/control.h"
#include "state/sandbox_record.h"

#define ANSWER_MS 10000
#define SUSPEND_MS 180000 /* all of the memory goes to the disk */
#define ASK_MS 2000
#define DEATH_MS 5000

static bool alive(int folder)
{
	return fileio_is_locked(folder, STORE_ALIVE_FILE) == 1;
}

static bool gone_within(int folder, unsigned limit_ms)
{
	uint64_t end = loop_now_ms() + limit_ms;
	struct timespec nap = { .tv_nsec = 1000000 };

	while (alive(folder)) {
		if (loop_now_ms() >= end)
			return false;
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 50000000)
			nap.tv_nsec *= 2;
	}
	return true;
}

static void limit_wait(int fd, unsigned limit_ms)
{
	struct timeval limit = { .tv_sec = limit_ms / 1000,
				 .tv_usec = (limit_ms % 1000) * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static int ask_to_stop(int folder, bool power_off, unsigned grace_ms,
		       struct error *err)
{
	struct control_client client;
	int fd = control_connect(folder, err);
	json_t *answer;

	if (fd < 0)
		return -1;
	limit_wait(fd, power_off ? grace_ms + ANSWER_MS : SUSPEND_MS);
	control_client_init(&client, fd);
	answer = control_call(&client,
			      json_pack("{s:s, s:b, s:i}", "op", "stop",
					"power_off", power_off, "timeout_ms",
					(int)grace_ms),
			      err);
	control_client_release(&client);
	if (!answer)
		return -1;
	json_decref(answer);
	return 0;
}

AUTO_DEFINE(dir, DIR *, closedir)

/*
 * Whether the process has the file open for writing, as only a supervisor has:
 * whoever asks for the lock opens it for reading.
 */
static bool holds(pid_t pid, const struct stat *file)
{
	char path[64];
	AUTO(dir) DIR *fds = NULL;
	const struct dirent *entry;

	text_format(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && (entry = readdir(fds))) {
		struct stat link, target;

		if (fstatat(dirfd(fds), entry->d_name, &target, 0) == 0 &&
		    target.st_dev == file->st_dev &&
		    target.st_ino == file->st_ino &&
		    fstatat(dirfd(fds), entry->d_name, &link,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    (link.st_mode & S_IWUSR))
			return true;
	}
	return false;
}

/* The pid in state.json when it is true, else whoever it is; 0: nobody. */
static pid_t find_holder(int folder, const struct stat *file)
{
	AUTO(dir) DIR *processes = NULL;
	const struct dirent *entry;
	struct sandbox_state state;

	if (sandbox_state_load(folder, &state, NULL) == 0 &&
	    state.supervisor_pid > 1 && holds(state.supervisor_pid, file))
		return state.supervisor_pid;
	processes = opendir("/proc");
	while (processes && (entry = readdir(processes))) {
		uint64_t pid;

		if (text_to_u64(entry->d_name, 2, INT32_MAX, &pid) == 0 &&
		    holds((pid_t)pid, file))
			return (pid_t)pid;
	}
	return 0;
}

static int kill_supervisor(int folder, struct error *err)
{
	AUTO_CLOSE int pidfd = -1;
	struct stat file;
	pid_t pid;

	if (fstatat(folder, STORE_ALIVE_FILE, &file, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	pid = find_holder(folder, &file);
	if (!pid)
		return error_set(err, 0, "its supervisor cannot be found");
	pidfd = pidfd_open(pid, 0);
	/* Held, looked at once more, then killed: it is the same process. */
	if (pidfd < 0 || !alive(folder) || !holds(pid, &file))
		return 0;
	if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) < 0)
		return error_set(err, errno, "killing its supervisor");
	return 0;
}

int halt_suspend(int folder, struct error *err)
{
	struct error asked = { 0 };

	if (!alive(folder))
		return 0;
	if (ask_to_stop(folder, false, ANSWER_MS, &asked) < 0) {
		/* without its socket it is about to end */
		if (gone_within(folder, asked.code == ENOENT ? DEATH_MS : 0))
			return 0;
		*err = asked;
		return -1;
	}
	return gone_within(folder, DEATH_MS)
		       ? 0
		       : error_set(err, ETIMEDOUT, "does not end");
}

int halt_folder(int folder, unsigned grace_ms, struct error *err)
{
	struct error asked = { 0 };

	if (!alive(folder))
		return 0;
	if (ask_to_stop(folder, true, grace_ms, &asked) == 0 &&
	    gone_within(folder, DEATH_MS))
		return 0;
	/* the connection also breaks when it ends while we ask */
	if (gone_within(folder, 200))
		return 0;
	if (kill_supervisor(folder, err) < 0)
		return -1;
	if (gone_within(folder, DEATH_MS))
		return 0;
	return error_set(err, 0, "does not stop: %s", asked.text);
}

static int session_count(int folder)
{
	struct control_client client;
	int fd = control_connect(folder, NULL);
	json_t *answer;
	int count;

	if (fd < 0)
		return 0;
	limit_wait(fd, ASK_MS);
	control_client_init(&client, fd);
	answer =
		control_call(&client, json_pack("{s:s}", "op", "status"), NULL);
	control_client_release(&client);
	count = (int)json_array_size(json_object_get(answer, "sessions"));
	json_decref(answer);
	return count;
}

int halt_if_idle(int folder, struct error *err)
{
	if (!alive(folder))
		return 0;
	if (session_count(folder) > 0)
		return error_set(err, EBUSY, "a session lives");
	return halt_folder(folder, 0, err);
}
