/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_parse.h - a folder or file of the host, as the user names one
 */
#pragma once

#include <stdbool.h>

struct error;
struct share_list;
struct share_record;

enum share_form {
	SHARE_FORM_PATH,   /* PATH[:ro], at the same path inside */
	SHARE_FORM_VOLUME, /* HOST:GUEST[:ro] */
	SHARE_FORM_MOUNT,  /* either */
};

/*
 * Resolves it. The path inside is the one that the user sees: where he came
 * through a link, the link's. What is neither a folder nor a file, cannot be
 * read or is not UTF-8 is an error. Release it with share_release().
 */
int share_parse(const char *text, enum share_form form,
		struct share_record *share, struct error *err);
void share_release(struct share_record *share);

enum share_force {
	SHARE_AS_USUAL,
	SHARE_FORCED, /* --force: "/" and the home folder too */
};

/* Refuses what must not be shared, and what the list has already. */
int share_check(const struct share_list *list, const struct share_record *share,
		enum share_force force, struct error *err);

/* bawn's own folders, which no guest sees; each malloc'd, NULL-terminated. */
char **share_own_folders(void);
void share_own_folders_free(char **folders);
