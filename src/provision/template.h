/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template.h - root file systems as read-only ext4 images
 *
 * data/templates/NAME/{disk.ext4,template.json}, or the same beneath the
 * system-wide folder. "base" and "tiny" are built in: data/templates/NAME.ini
 * in the source tree says what is in them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct progress;

struct template
{
	char *name;
	char *id;   /* "sha256:…" of the tar stream that it was made from */
	char *disk; /* absolute path of the raw ext4 image */
	char *source;
	uint64_t size_bytes; /* of the file system */
	uint64_t used_bytes; /* on the host's disk */
	int64_t created;
	bool system; /* lies in the system-wide folder */
};

enum template_place {
	TEMPLATE_USER,
	TEMPLATE_SYSTEM, /* needs root: for every user of this machine */
};

/* ENOENT in err->code when there is none of that name. */
int template_find(const char *name, struct template *template,
		  struct error *err);
/* Finds it, or makes a built-in one. */
int template_ensure(const char *name, enum template_place place,
		    const struct progress *progress, struct template *template,
		    struct error *err);
/* Compares the disk's content with what was made; reads all of it. */
int template_verify(const struct template *template, struct error *err);
/*
 * Also one that is damaged. The caller knows that nothing stands on it. ENOENT
 * when there is none in that place.
 */
int template_remove(const char *name, enum template_place place,
		    struct error *err);
/* Calls each for every template, sorted by name; the user's shadow system's. */
int template_each(void (*each)(void *ctx, const struct template *template),
		  void *ctx, struct error *err);
void template_release(struct template *template);
