/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ustar.h - writes a plain tar, for trees that bawn makes itself
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct ustar_entry {
	const char *path; /* relative, at most 100 bytes */
	mode_t mode;      /* type and permissions */
	uid_t uid;
	gid_t gid;
	const char *target; /* of a symbolic link, at most 100 bytes */
	unsigned device_major, device_minor;
	const void *content;
	size_t len;
};

/* Both write to fd (blocking). Times are zero: same content, same bytes. */
int ustar_add(int fd, const struct ustar_entry *entry, struct error *err);
int ustar_finish(int fd, struct error *err);
