/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_acl.c - a tar entry's POSIX ACL in the form of getxattr(2)
 */
#include "image/layer_acl.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"

#define XATTR_VERSION 2
#define NO_ID UINT32_MAX

/* In the order that the kernel wants them. */
static const struct {
	int archive_tag;
	uint16_t xattr_tag;
} tags[] = {
	{ ARCHIVE_ENTRY_ACL_USER_OBJ, 0x01 },
	{ ARCHIVE_ENTRY_ACL_USER, 0x02 },
	{ ARCHIVE_ENTRY_ACL_GROUP_OBJ, 0x04 },
	{ ARCHIVE_ENTRY_ACL_GROUP, 0x08 },
	{ ARCHIVE_ENTRY_ACL_MASK, 0x10 },
	{ ARCHIVE_ENTRY_ACL_OTHER, 0x20 },
};

static int put(struct layer_acl *acl, uint16_t tag, int permset, uint32_t id,
	       struct error *err)
{
	uint8_t *at = acl->bytes + acl->len;

	if (acl->len + 8 > sizeof(acl->bytes))
		return error_set(err, 0, "its access list is too long");
	at[0] = (uint8_t)tag;
	at[1] = 0;
	at[2] = (uint8_t)(permset & 7);
	at[3] = 0;
	for (int i = 0; i < 4; i++)
		at[4 + i] = (uint8_t)(id >> (8 * i));
	acl->len += 8;
	return 0;
}

static int put_tag(struct archive_entry *entry, int want, size_t which,
		   struct layer_acl *acl, struct error *err)
{
	int type, permset, tag, qualifier;
	const char *name;

	archive_entry_acl_reset(entry, want);
	while (archive_entry_acl_next(entry, want, &type, &permset, &tag,
				      &qualifier, &name) == ARCHIVE_OK) {
		uint32_t id = NO_ID;

		if (tag != tags[which].archive_tag)
			continue;
		if (tag == ARCHIVE_ENTRY_ACL_USER ||
		    tag == ARCHIVE_ENTRY_ACL_GROUP) {
			/* A name without a number means nothing in here. */
			if (qualifier < 0)
				return error_set(err, 0,
						 "its access list has a name "
						 "without a number");
			id = (uint32_t)qualifier;
		}
		if (put(acl, tags[which].xattr_tag, permset, id, err) < 0)
			return -1;
	}
	return 0;
}

int layer_acl_encode(struct archive_entry *entry, enum layer_acl_kind kind,
		     struct layer_acl *acl, struct error *err)
{
	int want = kind == LAYER_ACL_ACCESS ? ARCHIVE_ENTRY_ACL_TYPE_ACCESS
					    : ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;

	acl->len = 0;
	if ((archive_entry_acl_types(entry) & want) == 0)
		return 0;
	acl->bytes[0] = XATTR_VERSION;
	acl->bytes[1] = acl->bytes[2] = acl->bytes[3] = 0;
	acl->len = 4;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (put_tag(entry, want, i, acl, err) < 0)
			return -1;
	if (acl->len <= 4 + 3 * 8 && kind == LAYER_ACL_ACCESS)
		acl->len = 0;
	return 0;
}
