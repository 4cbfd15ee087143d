/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_shares.c - the folders of a sandbox that an undo may change
 */
#include "cli/undo_shares.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/sandbox_record.h"

int undo_shares_open(struct undo_shares *shares,
		     const struct sandbox_record *record, struct error *err)
{
	for (size_t i = 0; i < record->shares.count; i++) {
		const struct share_record *from = &record->shares.items[i];
		struct undo_share *share = &shares->list[shares->count];

		if (from->read_only)
			continue;
		if (shares->count == SHARE_LIST_MAX)
			return error_set(err, 0, "too many shares");
		share->path = xstrdup(from->host);
		share->root = fileio_open_real(from->host, O_PATH);
		shares->count++;
	}
	return 0;
}

void undo_shares_release(struct undo_shares *shares)
{
	for (size_t i = 0; i < shares->count; i++) {
		free(shares->list[i].path);
		if (shares->list[i].root >= 0)
			close(shares->list[i].root);
	}
	shares->count = 0;
}

int undo_shares_root(const struct undo_shares *shares, const char *path)
{
	for (size_t i = 0; i < shares->count; i++) {
		if (strcmp(shares->list[i].path, path) == 0)
			return shares->list[i].root;
	}
	return -1;
}

int undo_shares_take_owner(const struct undo_shares *shares, struct error *err)
{
	struct stat st;
	gid_t gid;

	if (geteuid() != 0 || !shares->count || shares->list[0].root < 0)
		return 0;
	if (fstat(shares->list[0].root, &st) < 0)
		return error_set(err, errno, "%s", shares->list[0].path);
	if (st.st_uid == 0)
		return 0;
	gid = st.st_gid ? st.st_gid : st.st_uid;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
		return error_set(err, errno, "becoming the owner of %s",
				 shares->list[0].path);
	return 0;
}
