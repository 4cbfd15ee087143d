/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whiteout.c - names by which a layer says what is gone
 */
#include "image/whiteout.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define PREFIX ".wh."
#define META ".wh..wh."
#define OPAQUE ".wh..wh..opq"

/* "dir/.wh..wh.plnk/12.34" too: the folder's name counts. */
static bool has_meta(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (text_starts(part, META))
			return true;
	}
	return false;
}

int whiteout_parse(const char *path, enum whiteout_kind *kind,
		   char target[TAR_PATH_MAX], struct error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *gone = name + strlen(PREFIX);

	*kind = WHITEOUT_NONE;
	target[0] = '\0';
	if (strcmp(name, OPAQUE) == 0) {
		*kind = WHITEOUT_OPAQUE;
		return 0;
	}
	if (has_meta(path)) {
		*kind = WHITEOUT_IGNORED;
		return 0;
	}
	if (!text_starts(name, PREFIX))
		return 0;
	if (!*gone || strcmp(gone, ".") == 0 || strcmp(gone, "..") == 0)
		return error_set(err, 0, "it is a whiteout of nothing");
	*kind = WHITEOUT_NAME;
	return text_format(target, TAR_PATH_MAX, "%.*s%s", (int)(name - path),
			   path, gone);
}
