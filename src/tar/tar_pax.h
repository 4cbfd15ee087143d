/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_pax.h - pax records: what a ustar header cannot say
 */
#pragma once

#include "tar/tar.h"

struct error;

/* Texts point into the bytes that were parsed. */
struct tar_pax {
	const char *path, *target, *note; /* NULL: not said */
	size_t path_len, target_len;
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
	bool has_size, has_mtime;
	struct tar_xattr xattrs[TAR_XATTRS_MAX];
	size_t xattr_count;
};

/*
 * Takes all records; bytes are changed (texts get a NUL in place of their
 * newline). Unknown keys are skipped, GNU's sparse files are refused.
 */
int tar_pax_parse(char *bytes, size_t len, struct tar_pax *pax,
		  struct error *err);
/*
 * Of a global header, which may say nothing that changes an entry: comments
 * and the like.
 */
int tar_pax_check_global(char *bytes, size_t len, struct error *err);
