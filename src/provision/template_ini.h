/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_ini.h - NAME.ini: what a built-in template is made of
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

struct template_ini {
	char *description;
	char *builder;        /* "mmdebstrap", "busybox" */
	char *hook;           /* file beside the .ini, or NULL */
	uint64_t needs_bytes; /* free space while it is made */
	char **packages;      /* NULL-terminated, never NULL */
	char **excludes;
};

/* Pure. "key = value" lines; packages and excludes repeat; '#' comments. */
int template_ini_parse(const char *text, struct template_ini *ini,
		       struct error *err);
/* NAME.ini of data/; ENOENT when there is no such built-in template. */
int template_ini_load(const char *name, struct template_ini *ini,
		      struct error *err);
void template_ini_release(struct template_ini *ini);
