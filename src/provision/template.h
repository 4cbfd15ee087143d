/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template.h - root file systems as read-only ext4 images
 *
 * data/templates/NAME/{disk.ext4,template.json}, or the same beneath the
 * system-wide folder. "base" and "tiny" are built in: data/templates/NAME.ini
 * in the source tree says what is in them. Images have names with tags, which
 * point to content (template_names.h), and content that is called by its id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct image;
struct progress;
struct reference;

struct template
{
	char *name; /* of an image: as people write it, with its tag */
	/* "sha256:…" of the tar stream that it was made from; of an image: of
	 * its chain of layers */
	char *id;
	char *disk; /* absolute path of the raw ext4 image */
	char *source;
	uint64_t size_bytes; /* of the file system */
	uint64_t used_bytes; /* on the host's disk */
	int64_t created;
	bool system; /* lies in the system-wide folder */
	/* of an image */
	char *reference; /* the name's full spelling; NULL: no image's */
	bool stand_in;   /* ours, while the real one could not be reached */
	bool name_is_system;
	struct image *image; /* owned; NULL when not known */
};

enum template_place {
	TEMPLATE_USER,
	TEMPLATE_SYSTEM, /* needs root: for every user of this machine */
};

/* ENOENT in err->code when there is none of that name, or id. */
int template_find(const char *name, struct template *template,
		  struct error *err);
/*
 * The content that a sandbox stands on, whatever its name means today. It has
 * the name that is given.
 */
int template_find_content(const char *name, const char *id,
			  struct template *template, struct error *err);
/* One of ours, that template_ensure() makes. */
bool template_is_built_in(const char *name);
/* There is one of that name that is no image's. */
bool template_is_plain(const char *name);
/* An image of this name could be taken for one of those: "base:latest". */
bool template_is_confusing(const struct reference *reference);
/* It is written as an id, or as the beginning of one. */
bool template_is_id(const char *name);
/* Finds it, or makes a built-in one. */
int template_ensure(const char *name, enum template_place place,
		    const struct progress *progress, struct template *template,
		    struct error *err);
/* Compares the disk's content with what was made; reads all of it. */
int template_verify(const struct template *template, struct error *err);
/*
 * A built-in one, also when it is damaged. The caller knows that nothing stands
 * on it. ENOENT when there is none in that place.
 */
int template_remove(const char *name, enum template_place place,
		    struct error *err);
/* Calls each for every template, sorted by name; the user's shadow system's. */
int template_each(void (*each)(void *ctx, const struct template *template),
		  void *ctx, struct error *err);
void template_release(struct template *template);
#define AUTO_TEMPLATE __attribute__((cleanup(template_release)))
