/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_learn_internal.h - rules before they are written down
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct learn_draft {
	char *host; /* owned by the list; an address without brackets */
	char *path; /* owned by the list; a glob, or NULL */
	bool is_name;
	bool refused;
	uint16_t low, high; /* 0: no port */
	uint32_t methods;
};

struct learn_drafts {
	struct learn_draft *list; /* owned */
	size_t count, room;
};

/* Copies the draft and its texts. */
void learn_drafts_add(struct learn_drafts *drafts,
		      const struct learn_draft *draft);
/* One wildcard for names that differ in their first label; shared: domains. */
void learn_drafts_merge(struct learn_drafts *drafts, const char *shared,
			size_t min);
int learn_drafts_write(struct learn_drafts *drafts, struct buffer *out);
void learn_drafts_release(struct learn_drafts *drafts);
