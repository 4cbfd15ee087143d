/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_spec.h - a Unix socket of the host for a sandbox, as it is written
 *
 *	HOST[:GUEST]
 *
 * The launcher connects to it with the user's rights. A guest that could put a
 * link in its place would reach any other socket of the user's, so it may not
 * lie where a guest writes; bawn's own are never given away.
 */
#pragma once

struct error;
struct share_list;
struct socket_record;
struct store;

/* Texts are malloc'd; release both in any case. */
int socket_spec_parse(const char *text, struct socket_record *socket,
		      struct error *err);
/* shares: what the sandbox itself gets; store: those of all others. */
int socket_spec_check(const struct socket_record *socket,
		      const struct share_list *shares,
		      const struct store *store, struct error *err);
