/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accounts.c - who a session runs as, from the template's own files
 */
#include "guest/accounts.h"

#include <string.h>

#include "base/text.h"

/* (uid_t)-1 means "no change" to the kernel: never a user. */
#define ID_MAX 0xfffffffeu

static bool parse_passwd_line(struct slice line, struct account *account)
{
	struct slice name, password, uid, gid, comment, home;
	uint64_t uid_number, gid_number;

	if (!slice_cut(&line, ':', &name) ||
	    !slice_cut(&line, ':', &password) || !slice_cut(&line, ':', &uid) ||
	    !slice_cut(&line, ':', &gid) || !slice_cut(&line, ':', &comment) ||
	    !slice_cut(&line, ':', &home))
		return false;
	if (slice_number(uid, ID_MAX, &uid_number) ||
	    slice_number(gid, ID_MAX, &gid_number) || name.len == 0)
		return false;
	if (slice_copy(name, account->name, sizeof(account->name)) ||
	    slice_copy(home, account->home, sizeof(account->home)))
		return false;
	if (!line.start || slice_copy(slice_trim(line), account->shell,
				      sizeof(account->shell)))
		account->shell[0] = '\0';
	account->uid = (uid_t)uid_number;
	account->gid = (gid_t)gid_number;
	return true;
}

/* By name first: a name may consist of digits. */
static bool find_user(struct slice passwd, struct slice wanted,
		      struct account *account)
{
	struct account candidate = { 0 };
	struct slice rest = passwd, line;
	uint64_t number;
	bool by_number = !slice_number(wanted, ID_MAX, &number);
	bool found = false;

	while (slice_line(&rest, &line)) {
		if (!parse_passwd_line(line, &candidate))
			continue;
		if (slice_equals(wanted, candidate.name)) {
			*account = candidate;
			return true;
		}
		if (by_number && !found && candidate.uid == number) {
			*account = candidate;
			found = true;
		}
	}
	return found;
}

struct group_line {
	struct slice name, members;
	gid_t gid;
};

static bool parse_group_line(struct slice line, struct group_line *group)
{
	struct slice password, gid;
	uint64_t number;

	if (!slice_cut(&line, ':', &group->name) ||
	    !slice_cut(&line, ':', &password) || !slice_cut(&line, ':', &gid))
		return false;
	if (group->name.len == 0 || slice_number(gid, ID_MAX, &number))
		return false;
	group->gid = (gid_t)number;
	if (!slice_cut(&line, ':', &group->members))
		group->members = (struct slice){ NULL, 0 };
	return true;
}

static bool find_group(struct slice file, struct slice wanted, gid_t *gid)
{
	struct slice rest = file, line;
	struct group_line group;
	uint64_t number;

	while (slice_line(&rest, &line)) {
		if (!parse_group_line(line, &group) ||
		    group.name.len != wanted.len ||
		    memcmp(group.name.start, wanted.start, wanted.len) != 0)
			continue;
		*gid = group.gid;
		return true;
	}
	if (slice_number(wanted, ID_MAX, &number))
		return false;
	*gid = (gid_t)number;
	return true;
}

static void add_group(struct account *account, gid_t gid)
{
	for (size_t i = 0; i < account->group_count; i++) {
		if (account->groups[i] == gid)
			return;
	}
	if (account->group_count < ACCOUNT_GROUPS_MAX)
		account->groups[account->group_count++] = gid;
}

static bool is_member(struct slice members, const char *name)
{
	struct slice member;

	while (slice_cut(&members, ',', &member)) {
		if (slice_equals(slice_trim(member), name))
			return true;
	}
	return false;
}

static void add_memberships(struct slice file, struct account *account)
{
	struct slice rest = file, line;
	struct group_line group;

	while (slice_line(&rest, &line)) {
		if (parse_group_line(line, &group) &&
		    is_member(group.members, account->name))
			add_group(account, group.gid);
	}
}

static int find_or_make_user(struct slice passwd, struct slice wanted,
			     struct account *account)
{
	uint64_t number;

	if (find_user(passwd, wanted, account))
		return 0;
	if (slice_equals(wanted, "root") || slice_equals(wanted, "0")) {
		text_copy(account->name, sizeof(account->name), "root");
		text_copy(account->home, sizeof(account->home), "/root");
		return 0;
	}
	if (slice_number(wanted, ID_MAX, &number))
		return -1;
	account->uid = (uid_t)number;
	return 0;
}

int account_resolve(const struct account_files *files, const char *spec,
		    struct account *account)
{
	struct slice rest = slice_of(spec), user, group;
	bool has_group;

	memset(account, 0, sizeof(*account));
	if (!*spec)
		rest = slice_of(account_has(files->passwd, ACCOUNT_AGENT)
					? ACCOUNT_AGENT
					: "root");
	slice_cut(&rest, ':', &user);
	has_group = slice_cut(&rest, ':', &group);
	if (user.len == 0 || (has_group && group.len == 0) || rest.start)
		return -1;
	if (find_or_make_user(files->passwd, user, account))
		return -1;
	if (!account->home[0])
		text_copy(account->home, sizeof(account->home), "/");
	if (!account->shell[0])
		text_copy(account->shell, sizeof(account->shell), "/bin/sh");
	if (has_group && !find_group(files->group, group, &account->gid))
		return -1;
	add_group(account, account->gid);
	/* Whoever names a group wants that group and no other. */
	if (!has_group && account->name[0])
		add_memberships(files->group, account);
	return 0;
}

bool account_has(struct slice file, const char *name)
{
	struct slice rest = file, line, first;

	while (slice_line(&rest, &line)) {
		if (slice_cut(&line, ':', &first) && line.start &&
		    slice_equals(first, name))
			return true;
	}
	return false;
}
