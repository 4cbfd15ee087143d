/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_pattern.h - the hosts that a rule means
 *
 * A pattern of names never means an address, and an address never a name; a
 * wildcard stands for whole labels at the front, and never for none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/address.h"

struct error;

enum host_kind {
	HOST_EXACT,     /* x: this name */
	HOST_ONE,       /* *.x: one label in front of x */
	HOST_BELOW,     /* **.x: one or more labels in front of x */
	HOST_TREE,      /* .x: x and whatever is below it */
	HOST_ANY,       /* **: every name */
	HOST_ADDRESS,   /* an address or a range */
	HOST_LOCALHOST, /* the machine that bawn runs on, by its loopback */
};

struct host_pattern {
	enum host_kind kind;
	char *name;        /* owned; x, canonical; NULL when there is none */
	struct cidr range; /* of HOST_ADDRESS */
};

#define HOST_PATTERN_TEXT_SIZE 264

int host_pattern_parse(const char *text, size_t len, struct host_pattern *out,
		       struct error *err);
void host_pattern_release(struct host_pattern *pattern);
/* One text for each pattern; IPv6 without brackets. */
void host_pattern_format(const struct host_pattern *pattern,
			 char out[HOST_PATTERN_TEXT_SIZE]);
/* localhost, and the two names that mean the same in a guest. */
bool host_pattern_is_localhost(const char *name);
