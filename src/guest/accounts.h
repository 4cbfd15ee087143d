/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accounts.h - who a session runs as, from the template's own files
 *
 * libc's lookups would load modules of a template's libc into a static binary;
 * this reads /etc/passwd and /etc/group by itself.
 */
#pragma once

#include <sys/types.h>

#include "guest/slice.h"

#define ACCOUNT_NAME_MAX 64
#define ACCOUNT_PATH_MAX 512
#define ACCOUNT_GROUPS_MAX 128
#define ACCOUNT_FILE_MAX (1024u * 1024) /* bytes of passwd or group */
#define ACCOUNT_AGENT "agent"
#define ACCOUNT_AGENT_ID 1000

struct account {
	char name[ACCOUNT_NAME_MAX]; /* "" when only the number is known */
	uid_t uid;
	gid_t gid;
	char home[ACCOUNT_PATH_MAX];  /* "/" when unknown */
	char shell[ACCOUNT_PATH_MAX]; /* "/bin/sh" when unknown */
	gid_t groups[ACCOUNT_GROUPS_MAX];
	size_t group_count;
};

struct account_files {
	struct slice passwd, group; /* empty when the template has none */
};

/*
 * spec: "name", "uid", either with ":group" or ":gid"; "" = agent if passwd
 * knows it, else root. Broken lines are passed over. Root is known without a
 * line. -1: no such user or group, or a spec that cannot be read. Pure.
 */
int account_resolve(const struct account_files *files, const char *spec,
		    struct account *account);
/* True when a line of the file begins with "name:". Pure. */
bool account_has(struct slice file, const char *name);
