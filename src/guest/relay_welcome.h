/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_welcome.h - which folders the host offers (PROTOCOL.md §8)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/record.h"

#define WELCOME_SHARES_MAX 64 /* HELLO has a bit for each */
#define WELCOME_PATH_MAX 4095

struct welcome_share {
	uint32_t flags;   /* enum record_share_flag */
	uint32_t type;    /* of its root: S_IFDIR or S_IFREG; 0 when gone */
	const char *path; /* absolute, without "." and ".."; borrowed */
};

struct welcome {
	uint8_t next_marker[RECORD_MARKER_BYTES];
	uint32_t count;
	struct welcome_share shares[WELCOME_SHARES_MAX];
};

/* Pure. The paths point into bytes. -1 when anything is wrong. */
int welcome_decode(const void *bytes, size_t len, struct welcome *welcome);
