/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whiteout.h - names by which a layer says what is gone
 *
 * "dir/.wh.name": dir/name of the layers below is gone. "dir/.wh..wh..opq":
 * all of theirs in dir is.
 */
#pragma once

#include "tar/tar_path.h"

struct error;

enum whiteout_kind {
	WHITEOUT_NONE, /* an ordinary name */
	WHITEOUT_NAME,
	WHITEOUT_OPAQUE,
	WHITEOUT_IGNORED, /* bookkeeping of an old storage driver */
};

/*
 * path is as tar_path_normalise() writes it. Of WHITEOUT_NAME target is the
 * path that is gone. -1 for a whiteout of nothing, "." or "..". Pure.
 */
int whiteout_parse(const char *path, enum whiteout_kind *kind,
		   char target[TAR_PATH_MAX], struct error *err);
