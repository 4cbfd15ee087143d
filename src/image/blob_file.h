/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_file.h - content of a known digest on its way into a file
 *
 * The file may hold a beginning already, from an earlier try: it is read once
 * for the digest, and the rest is appended. Nothing is good before
 * blob_file_check() has said so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "oci/image.h"

struct error;

struct blob_file {
	int fd; /* borrowed; read and write */
	struct image_descriptor descriptor;
	uint64_t have;     /* bytes in the file, all of them in the digest */
	unsigned wrong;    /* how often the digest was not the right one */
	struct hash *hash; /* owned */
};

/* Reads what is there; more than there can be is dropped. */
int blob_file_init(struct blob_file *file, int fd,
		   const struct image_descriptor *descriptor,
		   struct error *err);
void blob_file_release(struct blob_file *file);
/* Drops all. */
int blob_file_reset(struct blob_file *file, struct error *err);
/* -1 also when it is more than there should be. */
int blob_file_append(struct blob_file *file, const void *bytes, size_t len,
		     struct error *err);
/*
 * 0 when it is complete and right. 1 when it is not: if too short, it can be
 * gone on with; if wrong, it was dropped; err says what is the matter. -1 when
 * it was wrong before, or the file cannot be written.
 */
int blob_file_check(struct blob_file *file, struct error *err);
