/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_doing.c - what the loop of a sandbox is doing now, for `bawn ls`
 */
#include "cli/loop_doing.h"

#include <fcntl.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/loop_place.h"
#include "loop/run_state.h"
#include "state/paths.h"

#define DOING_FILE "doing"

static int number(const json_t *details, const char *key)
{
	return (int)json_integer_value(json_object_get(details, key));
}

void loop_doing_note(int folder, unsigned attempt, const json_t *details)
{
	const char *task = json_string_value(json_object_get(details, "task"));
	char text[LOOP_DOING_MAX], which[32] = "";
	struct error err = { 0 };

	if (attempt)
		(void)text_format(which, sizeof(which), "attempt %u, ",
				  attempt);
	(void)text_format(text, sizeof(text), "%siteration %d/%d%s%.60s", which,
			  number(details, "iteration"), number(details, "max"),
			  task && *task ? ": " : "", task ? task : "");
	if (fileio_replace(folder, DOING_FILE, text, strlen(text), 0600, 0,
			   &err) < 0)
		log_debug("%s", err.text);
}

bool loop_doing_of(const char *sandbox, char out[LOOP_DOING_MAX])
{
	AUTO_FREE char *sub = xasprintf(RUN_STATE_FOLDER "/%s", sandbox);
	AUTO_FREE char *path = paths_of(PATHS_STATE, sub, NULL);
	AUTO_BUFFER struct buffer text = BUFFER_INIT(LOOP_DOING_MAX);
	AUTO_CLOSE int folder = -1;

	if (path)
		folder = open(path,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || !loop_place_is_alive(folder) ||
	    fileio_read(folder, DOING_FILE, &text, NULL) < 0)
		return false;
	/* the task is an agent's word */
	text_printable((const char *)text.data, text.len, out, LOOP_DOING_MAX);
	return true;
}
