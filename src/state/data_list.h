/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_list.h - a list in our data that users extend by files of their own
 *
 * One file comes with bawn; those of a folder in the user's configuration are
 * merged over it, in the order of their names. A file that is wrong is an
 * error that names it: half a list would surprise more.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;

struct data_list {
	const char *file;   /* in our data */
	const char *folder; /* in the configuration; its *.json count */
	size_t bytes_max;   /* of one file */
	json_t *(*parse)(const void *bytes, size_t len, struct error *err);
	int (*merge)(json_t *list, const json_t *more, struct error *err);
};

/* Caller owns the list; NULL with err. */
json_t *data_list_load(const struct data_list *kind, struct error *err);
/* The same from other places. */
json_t *data_list_load_from(const struct data_list *kind, const char *file,
			    const char *folder, struct error *err);
