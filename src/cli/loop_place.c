/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_place.c - which loop a folder has, and where its state lies
 */
#include "cli/loop_place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "loop/run_state.h"
#include "state/digest.h"
#include "state/paths.h"
#include "state/sandbox_record.h"

#define PREFIX "ralph-"
#define HASH_DIGITS 8

/* Runs of anything but letters and digits become one "-", none at the ends. */
static void slug(const char *text, char *out, size_t size)
{
	size_t put = 0;

	for (; *text && put + 1 < size; text++) {
		if (isalnum((unsigned char)*text) && (unsigned char)*text < 128)
			out[put++] = (char)tolower((unsigned char)*text);
		else if (put && out[put - 1] != '-')
			out[put++] = '-';
	}
	while (put && out[put - 1] == '-')
		put--;
	out[put] = '\0';
	if (!put)
		(void)text_copy(out, size, "sandbox");
}

char *loop_place_name(const char *agent, const char *path)
{
	char hex[DIGEST_HEX], agent_part[33], folder[64];
	const char *slash = strrchr(path, '/');
	size_t room;

	digest_bytes(path, strlen(path), hex);
	slug(agent, agent_part, sizeof(agent_part));
	/* a long folder is cut, so that the name stays one of a sandbox */
	room = SANDBOX_NAME_MAX - strlen(PREFIX) - strlen(agent_part) - 2 -
	       HASH_DIGITS;
	slug(slash ? slash + 1 : path, folder, sizeof(folder));
	if (strlen(folder) > room)
		slug(slash ? slash + 1 : path, folder, room + 1);
	return xasprintf(PREFIX "%s-%s-%.*s", agent_part, folder, HASH_DIGITS,
			 hex);
}

int loop_place_open(const char *name, struct error *err)
{
	AUTO_FREE char *sub = xasprintf(RUN_STATE_FOLDER "/%s", name);

	return paths_open(PATHS_STATE, sub, err);
}

bool loop_place_is_alive(int folder)
{
	return fileio_is_locked(folder, RUN_STATE_LOCK) == 1;
}

/* Takes the candidate when it belongs to the folder and is newer. */
static void consider(int loops, const char *name, const char *path, int *folder,
		     struct run_state *best)
{
	AUTO_CLOSE int fd = openat(
		loops, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct run_state state = RUN_STATE_INIT;

	if (fd < 0 || run_state_load(fd, &state, NULL) <= 0)
		return;
	if (strcmp(state.workspace, path) != 0 ||
	    (*folder >= 0 && state.started <= best->started)) {
		run_state_release(&state);
		return;
	}
	if (*folder >= 0)
		close(*folder);
	*folder = TAKE_FD(fd);
	run_state_release(best);
	*best = state;
}

static int find_newest(const char *path, int *folder, struct run_state *state,
		       struct error *err)
{
	int loops = paths_open(PATHS_STATE, RUN_STATE_FOLDER, err);
	DIR *dir = loops < 0 ? NULL : fdopendir(loops);
	const struct dirent *entry;

	if (!dir) {
		if (loops >= 0)
			close(loops);
		return error_set(err, errno, RUN_STATE_FOLDER);
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			consider(loops, entry->d_name, path, folder, state);
	closedir(dir);
	return *folder >= 0;
}

int loop_place_find(const char *agent, const char *path, int *folder,
		    struct run_state *state, struct error *err)
{
	AUTO_FREE char *name = agent ? loop_place_name(agent, path) : NULL;
	int found;

	*folder = -1;
	if (!agent)
		return find_newest(path, folder, state, err);
	*folder = loop_place_open(name, err);
	if (*folder < 0)
		return -1;
	found = run_state_load(*folder, state, err);
	if (found <= 0)
		close(TAKE_FD(*folder));
	return found;
}
