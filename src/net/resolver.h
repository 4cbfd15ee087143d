/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver.h - what the host's name servers say about a name
 *
 * c-ares on the loop. It is asked only after policy allowed the name, reads no
 * file, and has no search list: a canonical name is asked for as it is.
 */
#pragma once

#include <stddef.h>

#include "wire/address.h"

struct error;
struct loop;
struct lookup;
struct resolver;

/* count 0: there is none, and why says what the servers said (static). */
typedef void lookup_fn(void *ctx, const struct address *addresses, size_t count,
		       const char *why);

struct resolver *resolver_new(struct loop *loop, struct error *err);
void resolver_free(struct resolver *resolver);
/* As config.h has them. */
void resolver_use(struct resolver *resolver, const char *servers);
/*
 * Both families, IPv6 and IPv4 taking turns. fn is called once, never before
 * this returns, and not after lookup_cancel().
 */
struct lookup *lookup_start(struct resolver *resolver, const char *name,
			    lookup_fn *fn, void *ctx);
void lookup_cancel(struct lookup *lookup);
