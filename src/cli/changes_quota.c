/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_quota.c - how much a sandbox in overlay mode may add to a folder
 *
 * What it writes lies on its own disk, which has a size of its own. The host's
 * folder grows by what is applied, so that is counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/text.h"
#include "changes/apply_room.h"
#include "changes/change_apply.h"
#include "cli/changes_internal.h"
#include "cli/store.h"

/* Nothing when it was never counted, or not by us. */
static void read_used(const struct changes *changes, unsigned number,
		      struct apply_growth *used)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(64);
	char name[CHANGES_NAME_MAX];

	changes_name(name, number, "used");
	*used = (struct apply_growth){ 0, 0 };
	if (fileio_read(changes->folder, name, &text, NULL) < 0)
		return;
	if (sscanf(buffer_str(&text), "%" SCNd64 " %" SCNd64, &used->bytes,
		   &used->files) != 2 ||
	    used->bytes < 0 || used->files < 0)
		*used = (struct apply_growth){ 0, 0 };
}

static bool has_quota(const struct changes *changes)
{
	const struct sandbox_record *record = &changes->sandbox->record;

	return record->quota_bytes || record->quota_inodes;
}

/* Who frees more than was added has not more than all. */
static int64_t sum(int64_t used, int64_t more)
{
	return used + more < 0 ? 0 : used + more;
}

int changes_quota_check(const struct changes *changes, size_t share,
			const struct apply_setup *setup, struct error *err)
{
	const struct sandbox_record *record = &changes->sandbox->record;
	const struct changes_share *one = &changes->shares[share];
	struct apply_growth used, more;

	if (!has_quota(changes))
		return 0;
	read_used(changes, one->number, &used);
	apply_room_growth(setup, &one->list, NULL, &more);
	if (record->quota_bytes && more.bytes > 0 &&
	    (uint64_t)sum(used.bytes, more.bytes) > record->quota_bytes)
		return error_say(err, EDQUOT,
				 "--quota lets the sandbox add %" PRIu64
				 " KiB: %" PRId64 " KiB were added, these "
				 "changes add %" PRId64
				 " KiB; nothing was applied",
				 record->quota_bytes >> 10, used.bytes >> 10,
				 more.bytes >> 10);
	if (record->quota_inodes && more.files > 0 &&
	    (uint64_t)sum(used.files, more.files) > record->quota_inodes)
		return error_say(err, EDQUOT,
				 "--quota lets the sandbox add %" PRIu64
				 " files: %" PRId64 " were added, these "
				 "changes add %" PRId64 "; nothing was applied",
				 record->quota_inodes, used.files, more.files);
	return 0;
}

int changes_quota_note(const struct changes *changes, size_t share,
		       const struct apply_setup *setup, const bool *made,
		       struct error *err)
{
	const struct changes_share *one = &changes->shares[share];
	struct apply_growth used, more;
	char name[CHANGES_NAME_MAX], text[64];

	if (!has_quota(changes))
		return 0;
	read_used(changes, one->number, &used);
	apply_room_growth(setup, &one->list, made, &more);
	text_format(text, sizeof(text), "%" PRId64 " %" PRId64 "\n",
		    sum(used.bytes, more.bytes), sum(used.files, more.files));
	changes_name(name, one->number, "used");
	return fileio_replace(changes->folder, name, text, strlen(text), 0600,
			      0, err);
}
