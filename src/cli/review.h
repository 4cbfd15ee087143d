/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review.h - what the guard of a sandbox holds back, against the host's files
 *
 * The shadow (files/shadow.h) was written by a process that reads a guest's
 * bytes: it may hold anything. Only files, links and marks of removal count,
 * nothing is followed, sizes and numbers are bounded. The same goes for the
 * workspace, where the guest may have planted links.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buffer.h"

struct error;
struct sandbox;

#define REVIEW_BYTES_MAX (64U << 20)
#define REVIEW_ITEMS_MAX 10000

enum review_change {
	REVIEW_ADDED,
	REVIEW_CHANGED,
	REVIEW_REMOVED,
	REVIEW_CHANGES,
};

extern const char *const review_change_names[REVIEW_CHANGES];

struct review_item {
	size_t share; /* its place in the record */
	char *path;   /* owned; beneath the share, as it is: not printable */
	enum review_change change;
	struct stat st; /* of the guest's version; of the host's if removed */
};

struct review {
	const struct sandbox *sandbox; /* borrowed */
	struct review_item *held;      /* owned; sorted by share and path */
	size_t held_count;
	struct review_item *shown; /* owned; only share and path */
	size_t shown_count;
	bool cut; /* there was more */
};

int review_load(const struct sandbox *sandbox, struct review *review,
		struct error *err);
void review_release(struct review *review);
#define AUTO_REVIEW __attribute__((cleanup(review_release)))

/*
 * As it is named to a user: beneath the workspace by its path, elsewhere by the
 * whole one on the host. Not printable; malloc'd.
 */
char *review_name(const struct review *review, const struct review_item *item);

/* One version of a file, read once: what is shown is what is written. */
struct review_version {
	struct stat st;       /* st_mode 0: there is none */
	struct buffer buffer; /* its bytes, or where a link leads */
	bool too_big;         /* of a file: there are more */
};
#define REVIEW_VERSION_INIT \
	((struct review_version){ .buffer = BUFFER_INIT(REVIEW_BYTES_MAX) })

static inline void review_version_auto(struct review_version *version)
{
	buffer_release(&version->buffer);
}
#define AUTO_VERSION __attribute__((cleanup(review_version_auto)))

int review_read_guest(const struct review *review,
		      const struct review_item *item,
		      struct review_version *version, struct error *err);
int review_read_host(const struct review *review,
		     const struct review_item *item,
		     struct review_version *version, struct error *err);
/* A unified diff, fit for a terminal. */
int review_diff(const struct review *review, const struct review_item *item,
		const struct review_version *host,
		const struct review_version *guest, struct buffer *out,
		struct error *err);
/* Writes this version over the host's, or removes that. */
int review_apply(const struct review *review, const struct review_item *item,
		 const struct review_version *guest, struct error *err);
/*
 * Forgets the guest's version; only_if: when it is still that one, or NULL.
 */
int review_drop(const struct review *review, const struct review_item *item,
		const struct review_version *only_if, struct error *err);
