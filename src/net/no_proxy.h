/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_proxy.h - which hosts are reached without the host's proxy
 *
 * A list with commas or spaces: `*` is all; a name is itself and all names
 * below it, with or without a dot in front; an address is itself, a CIDR its
 * range; `:PORT` behind a name or [address] limits it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct address;

/* list may be NULL. name is canonical or NULL, address then not. */
bool no_proxy_has(const char *list, const char *name,
		  const struct address *address, uint16_t port);
