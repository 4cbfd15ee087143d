/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - what a guest wants to reach
 *
 * Whichever way it said so: an address that stands for a name, the name itself
 * (forward proxy), a literal address, the host's loopback in one of its
 * spellings. Everything after this point asks the target, never the address
 * that the guest used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/authority.h"

struct names;

enum target_result {
	TARGET_GOOD,
	TARGET_UNKNOWN, /* an address of ours that nobody was told */
	TARGET_PROXY,   /* our forward proxy */
	TARGET_SPECIAL, /* a name that does not exist outside */
};

struct target {
	char *name;             /* owned, canonical; NULL: a literal address */
	struct address address; /* of a literal; family 0 with a name */
	uint16_t port;
	bool is_host; /* the host's loopback; the name is "localhost" */
};

/* The name that stands for the host's loopback in policy.h. */
#define TARGET_HOST_NAME "localhost"
/* Where host.docker.internal is for a guest, and our forward proxy on it. */
#define TARGET_HOST_ADDRESS 0xc613ff02u
#define TARGET_PROXY_PORT 3128

/* With TARGET_GOOD *out is to be released. */
enum target_result target_from_address(const struct names *names,
				       const struct address *address,
				       uint16_t port, struct target *out);
enum target_result target_from_authority(const struct names *names,
					 const struct authority *authority,
					 uint16_t port, struct target *out);
void target_release(struct target *target);
void target_copy(const struct target *from, struct target *out);
bool target_same(const struct target *a, const struct target *b);

/* Is this what a request to the target may call it? port: when none given. */
bool target_is_called(const struct target *target,
		      const struct authority *authority, uint16_t port);
/* Is `name` one of the names of the host's loopback? */
bool target_is_host_name(const char *name);
/* The address of host.docker.internal. */
struct address target_host_address(void);
/* As in a rule: the port only when it is neither 80 nor 443. */
void target_format(const struct target *target, char out[AUTHORITY_TEXT_SIZE]);
/* The name, or the address as text. */
void target_host(const struct target *target, char out[HOSTNAME_MAX + 1]);
