/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_checkpoint.c - a state before an iteration, to go back to
 *
 * `bawn checkpoint` and `bawn restore` as processes of their own: a restore
 * becomes another user where root undoes, which cannot be taken back.
 */
#include "cli/loop_checkpoint.h"

#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/text.h"

#define SELF "/proc/self/exe"
#define OUTPUT_MAX 4096

static int run(const char *const *argv, struct buffer *out, struct error *err)
{
	/* Ctrl-C of a terminal is for the loop, which lets this one end */
	const struct child_spec spec = { .path = SELF,
					 .argv = argv,
					 .env = (const char *const *)environ,
					 .flags = CHILD_NULL_STDIO |
						  CHILD_NEW_SESSION };

	return child_run(&spec, out, err);
}

int loop_checkpoint_make(const char *name, char *label, size_t size,
			 struct error *err)
{
	const char *const argv[] = { "bawn", "checkpoint", name, NULL };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	const char *text;
	size_t len;

	if (run(argv, &out, err) < 0)
		return error_prefix(err, "checkpoint");
	text = buffer_str(&out);
	len = text ? strcspn(text, " \n") : 0;
	if (!len || len >= size)
		return error_set(err, 0, "the checkpoint has no label");
	memcpy(label, text, len);
	label[len] = '\0';
	return 0;
}

int loop_checkpoint_restore(const char *name, const char *label,
			    struct error *err)
{
	const char *const argv[] = { "bawn", "restore", "--workspace",
				     name,   label,     NULL };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(64 * OUTPUT_MAX);

	if (run(argv, &out, err) < 0)
		return error_prefix(err, "restore");
	return 0;
}
