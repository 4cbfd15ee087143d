/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_random.h - random rules over all kinds, and targets near them
 *
 * A rule is made as its parts and as text; who checks the verdict uses the
 * parts, so that it need not trust the parser. Same seed, same rules.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/address.h"

enum random_action {
	RANDOM_ALLOW,
	RANDOM_DENY,
	RANDOM_BYPASS,
	RANDOM_INSPECT,
};

enum random_host {
	RANDOM_EXACT,
	RANDOM_ONE,
	RANDOM_BELOW,
	RANDOM_TREE,
	RANDOM_ANY,
	RANDOM_V4,
	RANDOM_V4_RANGE,
	RANDOM_V6,
	RANDOM_V6_RANGE,
	RANDOM_LOCALHOST,

	RANDOM_HOSTS,
};

#define RANDOM_METHODS 4 /* GET, HEAD, POST, PUT: bit n of `methods` */

struct random_rule {
	enum random_action action;
	enum random_host host;
	char name[256]; /* x of *.x */
	struct cidr range;
	bool has_port;
	uint16_t low, high;
	unsigned methods; /* 0: none are named */
	char path[256];   /* "": none */
	char text[640];
};

struct random_target {
	bool is_name;
	char name[256];
	struct address address;
	uint16_t port;
	const char *method;  /* one of the four, or another */
	unsigned method_bit; /* 0: another */
	bool has_path;
	char path[256];
};

struct random_shape {
	unsigned labels;     /* how many words names are made of */
	unsigned name_depth; /* labels in a name */
	unsigned segments;   /* how many words paths are made of */
	unsigned path_depth;
	unsigned wild;  /* percent of segments with a star, before the last */
	unsigned ports; /* how many ports are in use */
	unsigned networks; /* how many first halves of addresses */
	unsigned min_bits; /* of a range; of IPv6 four times as many */
	bool closable;     /* by a single rule: `deny **` */
};

struct random_source {
	uint64_t state;
	struct random_shape shape;
};

uint64_t random_next(struct random_source *source);
unsigned random_below(struct random_source *source, unsigned limit);
void random_make_rule(struct random_source *source, struct random_rule *rule);
/* Often one that the rule matches, or nearly. */
void random_make_target(struct random_source *source,
			const struct random_rule *near,
			struct random_target *target);
