/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_tag.h - names of templates: more of them, fewer of them, and what is
 * left when the last one is gone
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provision/template.h"

struct error;

/* From now on `to` means what `from` means. */
int template_tag(const char *from, const char *to, enum template_place place,
		 struct error *err);
/*
 * The name goes; *last says whether it was the last one of its content, which
 * stays until template_prune().
 */
int template_untag(const struct template *template, bool *last,
		   struct error *err);

/* Another name means the same content. */
bool template_has_other_name(const struct template *template);

/* Whether sandboxes stand on the content with this id. */
typedef bool template_used_fn(void *ctx, const char *id);

enum template_prune_flags {
	TEMPLATE_PRUNE_DRY = 1 << 0,   /* only tell */
	TEMPLATE_PRUNE_DISKS = 1 << 1, /* content without a name and a user */
	TEMPLATE_PRUNE_PARTS = 1 << 2, /* parts of no image that has a name */
};

struct template_pruned {
	uint64_t bytes;
	unsigned disks, parts;
};

int template_prune(enum template_place place, unsigned flags,
		   template_used_fn *used, void *ctx,
		   struct template_pruned *pruned, struct error *err);
