/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_path.h - what the paths of shares look like; pure
 */
#pragma once

struct error;

/* As long as the guest's kernel takes one. */
#define SHARE_PATH_MAX 4095

/*
 * An absolute path without ".", empty parts, a slash at its end, and with each
 * ".." taken as text (which a link before it makes wrong: compare what it leads
 * to). malloc'd; NULL when it is not absolute.
 */
char *share_path_tidy(const char *path);
/* Whether something may be mounted there in the guest. */
int share_guest_check(const char *path, struct error *err);
/*
 * "HOST:GUEST" cut at the last colon before a slash. malloc'd; -1 when there is
 * no such colon.
 */
int share_split(const char *text, char **host, char **guest);
