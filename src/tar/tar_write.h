/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_write.h - entries to bytes
 */
#pragma once

#include "tar/tar.h"

struct buffer;

/*
 * Appends what stands before the content: pax records where they are needed,
 * and the header. The caller writes the content and tar_padding() zeroes. -1
 * when out cannot take it; TAR_META_MAX and a few blocks are always enough.
 */
int tar_write_entry(const struct tar_entry *entry, struct buffer *out);
/* Appends the end of an archive. */
int tar_write_end(struct buffer *out);
