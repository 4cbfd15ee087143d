/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.h - the guest's own versions of held files, beside a share
 *
 * A tree in the state folder with the paths of the share: a file or a symbolic
 * link there is what the guest sees instead of the host's, a socket means that
 * the guest removed what the host has (a guest cannot make sockets there). The
 * folders in it say nothing; those of the guest are the host's.
 *
 * Paths are relative to the share's root and were checked component by
 * component; no link is followed on the way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define SHADOW_COPY_MAX (64U << 20)
#define SHADOW_ROOT_BYTES 32

struct shadow {
	int state_fd; /* borrowed */
	bool used;    /* there may be something in it */
	char root[SHADOW_ROOT_BYTES];
};

/* The tree's name comes from the share's path: a number may be another's. */
void shadow_init(struct shadow *shadow, int state_fd, const char *host_path);

/* Where something lies that is to be copied into it. */
struct shadow_source {
	int fd;                 /* readable; of a link O_PATH */
	const struct statx *st; /* of it */
};

/* An O_PATH descriptor, owned by the caller; all return a negative errno. */
int shadow_open(const struct shadow *shadow, const char *path);
/* 1: the guest's own, with SHARE_SHADOW in the mask; 0: none; -ENOENT: gone. */
int shadow_find(const struct shadow *shadow, const char *path,
		struct statx *st);
/* Whether a folder has anything in it of its own; 0 or 1. */
bool shadow_has_folder(const struct shadow *shadow, const char *path);
/* Makes the folder that path lies in: owned descriptor, and the last name. */
int shadow_folder(struct shadow *shadow, const char *path, const char **name);
int shadow_copy(struct shadow *shadow, const char *path,
		const struct shadow_source *source);
/* Into any folder, as a new file or link; what is half made stays. */
int shadow_copy_to(int dir, const char *name,
		   const struct shadow_source *source);
int shadow_white_out(struct shadow *shadow, const char *path);
/* What the guest had or removed there, if anything; not a folder. */
void shadow_forget(struct shadow *shadow, const char *path);
void shadow_remove_tree(struct shadow *shadow, const char *path);
/* Of a file, or of all that lies beneath a folder. */
int shadow_rename(struct shadow *shadow, const char *from, const char *to);

/* Return false to stop. */
typedef bool shadow_entry_fn(void *ctx, const char *name, mode_t type);
/* Entries but for `.` and `..`; 0 also when there is no such folder. */
int shadow_list(const struct shadow *shadow, const char *path,
		shadow_entry_fn *fn, void *ctx);
/* The same for any folder, by a readable descriptor at its start. */
int shadow_list_fd(int fd, shadow_entry_fn *fn, void *ctx);
