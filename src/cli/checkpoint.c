/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c - states of a sandbox that it can go back to: their names and
 * what is in their folders
 */
#include "cli/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/resume.h"
#include "cli/store.h"

int checkpoint_label_check(const char *label, struct error *err)
{
	size_t len = strlen(label);

	if (len >= 1 && len <= CHECKPOINT_LABEL_MAX && label[0] != '.' &&
	    label[0] != '-' &&
	    strspn(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "0123456789._-") == len)
		return 0;
	return error_set(err, EINVAL,
			 "%s: a label is up to %d letters, digits, \".\", "
			 "\"_\" and \"-\", and begins with a letter or digit",
			 label, CHECKPOINT_LABEL_MAX);
}

int checkpoint_place_ok(const char *place)
{
	if (strcmp(place, RESUME_ORIGIN) == 0)
		return 0;
	if (!text_starts(place, CHECKPOINT_FOLDER "/"))
		return -1;
	return checkpoint_label_check(place + strlen(CHECKPOINT_FOLDER "/"),
				      NULL);
}

int checkpoint_give_nodes(const struct sandbox *sandbox, const char *place,
			  struct error *err)
{
	AUTO_CLOSE int folder =
		openat(sandbox->folder, place,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int from = -1;
	AUTO_CLOSE int to = -1;

	if (folder < 0)
		return error_set(err, errno, "%s", place);
	from = openat(folder, CHECKPOINT_NODES,
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "nodes");
	to = openat(sandbox->folder, CHECKPOINT_NODES,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (to < 0)
		return error_set(err, errno, "nodes");
	return fileio_copy_sparse(from, to, err);
}
