/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_acl.h - a tar entry's POSIX ACL in the form of getxattr(2)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct archive_entry;
struct error;

#define LAYER_ACL_ENTRIES_MAX 64
#define LAYER_ACL_BYTES (4 + 8 * LAYER_ACL_ENTRIES_MAX)

enum layer_acl_kind {
	LAYER_ACL_ACCESS,
	LAYER_ACL_DEFAULT,
};

struct layer_acl {
	uint8_t bytes[LAYER_ACL_BYTES];
	size_t len; /* 0: there is none */
};

/* A list that says no more than the mode does is none. */
int layer_acl_encode(struct archive_entry *entry, enum layer_acl_kind kind,
		     struct layer_acl *acl, struct error *err);
