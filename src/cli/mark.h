/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.h - marks in what a running sandbox changes, for `bawn undo`
 */
#pragma once

struct error;
struct sandbox;

/* err->code ENOENT, ECONNREFUSED or ESRCH: nothing is shared there. */
int mark_set(const struct sandbox *sandbox, const char *label,
	     struct error *err);
/* "PREFIX" and the time. */
int mark_set_now(const struct sandbox *sandbox, const char *prefix,
		 struct error *err);
