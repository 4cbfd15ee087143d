/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.h - the disk of a sandbox as a template
 */
#pragma once

struct error;

struct save_wish {
	const char *sandbox;
	const char *tag;    /* what the template is called */
	const char *output; /* an archive, too; or NULL */
};

/* As a command's own: 0, -1, or the exit code of one that was interrupted. */
int save_sandbox(const struct save_wish *wish, struct error *err);
