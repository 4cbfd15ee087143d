/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_names.h - which content an image's name means: images/names/
 *
 * One file for each name, called by the hash of its full spelling. The content
 * lies beneath images/content and may have several names, or, while sandboxes
 * stand on it, none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "oci/image.h"
#include "provision/template.h"
#include "state/paths.h"

struct error;
struct reference;

struct template_name {
	char *reference; /* owned; its full spelling */
	char *content;   /* owned; id of the content, "sha256:…" */
	char *source;    /* owned; where it came from */
	int64_t created;
	bool stand_in;      /* ours, while the real one could not be reached */
	bool has_image;     /* what follows is known */
	struct image image; /* what it was made from, and how it is run */
};

void template_name_release(struct template_name *name);
#define AUTO_TEMPLATE_NAME __attribute__((cleanup(template_name_release)))

/* ENOENT when there is none; EBADMSG when it is damaged. */
int template_name_load(enum paths_kind kind, const struct reference *reference,
		       struct template_name *name, struct error *err);
/* Makes it, or lets it mean something else from now on. */
int template_name_save(enum template_place place,
		       const struct template_name *name, struct error *err);
int template_name_remove(enum template_place place,
			 const struct reference *reference, struct error *err);
/* Sorted by nothing; damaged ones are left out. */
typedef void template_name_fn(void *ctx, const struct template_name *name);
void template_name_each(enum paths_kind kind, template_name_fn *each,
			void *ctx);
/* Held by whoever fetches what the name will mean; close it. */
int template_name_lock(enum template_place place,
		       const struct reference *reference, struct error *err);
