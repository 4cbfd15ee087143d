/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_list.h - which folders and files of the host a sandbox sees, and how
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct error;

/* As many as bawn-files serves. */
#define SHARE_LIST_MAX 64

struct share_record {
	char *host;  /* real path: absolute, no link in it */
	char *guest; /* where it is inside: absolute, no "." or ".." */
	bool read_only;
	/* not asked for at the making: by `bawn mount`, or a git folder that
	   the workspace needs; an equal request does not name it */
	bool added;
};

struct share_list {
	struct share_record *items; /* owned; the first is the workspace */
	size_t count;
};

/* The texts are copied. */
void share_list_add(struct share_list *list, const struct share_record *share);
void share_list_remove(struct share_list *list, size_t at);
void share_list_copy(struct share_list *to, const struct share_list *from);
void share_list_release(struct share_list *list);
/* By the path on the host or inside; NULL when there is none. */
const struct share_record *share_list_find(const struct share_list *list,
					   const char *path);

/* An array as in sandbox.json; NULL when a path is not UTF-8. */
json_t *share_list_encode(const struct share_list *list);
/* Strict; list is empty after an error. */
int share_list_decode(const json_t *array, struct share_list *list,
		      struct error *err);

/* True when path is folder itself or lies beneath it; both absolute. */
bool share_path_within(const char *path, const char *folder);
