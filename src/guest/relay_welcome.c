/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_welcome.c - which folders the host offers
 */
#include "guest/relay_welcome.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/cursor.h"

#define FLAGS \
	(RECORD_SHARE_READ_ONLY | RECORD_SHARE_OVERLAY | RECORD_SHARE_GONE)

/* "/a/b": no empty step, no "." or "..", and not the root itself. */
static bool path_is_plain(const char *path)
{
	if (strlen(path) > WELCOME_PATH_MAX || path[0] != '/' || !path[1])
		return false;
	while (*path) {
		size_t len = strcspn(path + 1, "/");

		if (!len || (len <= 2 && !strncmp(path + 1, "..", len)))
			return false;
		path += 1 + len;
	}
	return true;
}

static bool read_share(struct cursor *c, struct welcome_share *share)
{
	share->flags = cursor_u32(c);
	share->type = cursor_u32(c);
	share->path = cursor_str(c);
	if (c->bad || share->flags & ~(uint32_t)FLAGS)
		return false;
	if (share->flags & RECORD_SHARE_GONE)
		return true;
	return (share->type == S_IFDIR || share->type == S_IFREG) &&
	       path_is_plain(share->path);
}

int welcome_decode(const void *bytes, size_t len, struct welcome *welcome)
{
	struct cursor c = cursor_over(bytes, len);
	uint32_t version = cursor_u32(&c);
	const void *marker;

	welcome->count = cursor_u32(&c);
	marker = cursor_bytes(&c, sizeof(welcome->next_marker));
	if (c.bad || version != RECORD_VERSION ||
	    welcome->count > WELCOME_SHARES_MAX)
		return -1;
	memcpy(welcome->next_marker, marker, sizeof(welcome->next_marker));
	for (uint32_t i = 0; i < welcome->count; i++) {
		if (!read_share(&c, &welcome->shares[i]))
			return -1;
	}
	return cursor_done(&c) ? 0 : -1;
}
