/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_add.h - files of an archive into an ext4 image that is there already
 *
 * The image is one of ours (a copy of a template's disk), the archive is a
 * stranger's: only its regular files are taken, only those beneath a name that
 * the caller gave, and only to where the caller said. They are root's.
 */
#pragma once

#include <stddef.h>

struct error;
struct ext4_add;
struct tar_stream;

#define EXT4_ADD_RULES_MAX 16
#define EXT4_ADD_FILES_MAX 20000

/* Both as tar_path_normalise() has them; borrowed. */
struct ext4_add_rule {
	const char *from; /* a file or folder of the archive; of a link: to */
	const char *to;   /* in the image */
};

/* fd (borrowed) is open for reading and writing. Trusts the image. */
struct ext4_add *ext4_add_open(int fd, struct error *err);
/* Every rule must take at least one file. What is there already stays: a file
 * of the same name is an error. */
int ext4_add_archive(struct ext4_add *add, struct tar_stream *stream,
		     const struct ext4_add_rule *rules, size_t count,
		     struct error *err);
/* A symbolic link at rule->to that leads to rule->from, which becomes
 * executable. */
int ext4_add_link(struct ext4_add *add, const struct ext4_add_rule *rule,
		  struct error *err);
/* Writes what is still in memory. */
int ext4_add_finish(struct ext4_add *add, struct error *err);
void ext4_add_free(struct ext4_add *add);
