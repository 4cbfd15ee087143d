/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_ini.h - NAME.ini: what a built-in template is made of
 *
 * Those of data/templates, and the user's in templates of the config folder:
 * one of the same name is taken instead.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

struct template_ini {
	char *description;
	char *builder;        /* "mmdebstrap", "busybox", "npm", "vendor" */
	char *hook;           /* file beside the .ini, or NULL */
	uint64_t needs_bytes; /* free space while it is made */
	char **packages;      /* NULL-terminated, never NULL */
	char **excludes;
	/* of builder npm */
	char *from; /* the template that it begins with */
	/* "npm NAME VERSION [SUFFIX]", then its "take FROM TO" and "link TARGET
	 * PATH", in their order */
	char **steps;
	char *check; /* a command that must work in the guest, or NULL */
	/* of builder vendor */
	char *vendor;  /* the URL of what is fetched; "from" is there, too */
	char *install; /* a shell command: $INSTALLER is that, $HOME is new */
	char **allows; /* rules: what the installer may reach */
};

/* Pure. "key = value" lines; packages and excludes repeat; '#' comments. */
int template_ini_parse(const char *text, struct template_ini *ini,
		       struct error *err);
/* The user's NAME.ini, or that of data/; ENOENT when there is none. */
int template_ini_load(const char *name, struct template_ini *ini,
		      struct error *err);
void template_ini_release(struct template_ini *ini);
