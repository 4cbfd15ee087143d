/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_accounts.c - a template's passwd and group, and a user to look for
 *
 * Input: the user, a newline, passwd, an empty line, group.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/accounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size }, user;
	struct account_files files;
	struct account account;
	const char *middle;
	char spec[256];

	if (!slice_line(&rest, &user) || slice_copy(user, spec, sizeof(spec)))
		return 0;
	files.passwd = files.group = rest;
	middle = rest.len ? memmem(rest.start, rest.len, "\n\n", 2) : NULL;
	if (middle) {
		files.passwd.len = (size_t)(middle + 1 - rest.start);
		files.group.start = middle + 2;
		files.group.len = rest.len - files.passwd.len - 1;
	}
	if (account_resolve(&files, spec, &account))
		return 0;
	if (account.group_count == 0 ||
	    account.group_count > ACCOUNT_GROUPS_MAX ||
	    account.uid == (uid_t)-1 || account.gid == (gid_t)-1 ||
	    account.home[0] == '\0' || account.shell[0] == '\0')
		abort();
	return 0;
}
