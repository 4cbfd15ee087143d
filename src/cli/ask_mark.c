/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_mark.c - the words by which a user knows bawn's own questions
 */
#include "cli/ask_mark.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

#define MARK_FILE "ask-mark"

static const char *const colours[] = {
	"amber",  "azure", "coral", "ebony", "ivory", "jade",  "lilac", "lemon",
	"maroon", "ochre", "olive", "pearl", "ruby",  "sable", "teal",  "umber",
};
static const char *const animals[] = {
	"badger", "beaver",  "crane", "falcon", "heron", "ibex",
	"jackal", "kestrel", "lynx",  "marten", "newt",  "otter",
	"pike",   "raven",   "stoat", "weasel",
};

static int make(int folder, char mark[ASK_MARK_SIZE], struct error *err)
{
	uint32_t noise;
	char line[ASK_MARK_SIZE + 1];

	if (getrandom(&noise, sizeof(noise), 0) != sizeof(noise))
		abort();
	text_format(mark, ASK_MARK_SIZE, "%s %s %u",
		    colours[noise % ARRAY_SIZE(colours)],
		    animals[noise / 16 % ARRAY_SIZE(animals)],
		    noise / 256 % 1000);
	text_format(line, sizeof(line), "%s\n", mark);
	return fileio_replace(folder, MARK_FILE, line, strlen(line), 0600, 0,
			      err);
}

int ask_mark_load(char mark[ASK_MARK_SIZE], bool *is_new, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(ASK_MARK_SIZE * 8);
	AUTO_CLOSE int folder = paths_open(PATHS_CONFIG, NULL, err);
	struct error missing = { 0 };
	size_t len = 0;

	*is_new = false;
	if (folder < 0)
		return -1;
	if (fileio_read(folder, MARK_FILE, &text, &missing) < 0 &&
	    missing.code != ENOENT)
		return error_set(err, missing.code, MARK_FILE);
	while (len < text.len && text.data[len] != '\n')
		len++;
	if (!len) {
		*is_new = true;
		return make(folder, mark, err);
	}
	text_printable((const char *)text.data, len, mark, ASK_MARK_SIZE);
	return 0;
}
