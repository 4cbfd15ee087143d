/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h - HOST[:PORT] as it stands in Host, CONNECT and URLs
 *
 * The host is a canonical name or an address; IPv6 in brackets. No user, no
 * zone, no percent-encoding, no empty or padded port. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"
#include "wire/hostname.h"

#define AUTHORITY_TEXT_SIZE (HOSTNAME_MAX + sizeof("[]:65535"))

struct authority {
	char host[HOSTNAME_MAX + 1]; /* an address as address_format() does */
	struct address address;      /* family 0: the host is a name */
	uint16_t port;               /* 0: none given */
};

/* -1 and *out all zero when it is anything else. */
int authority_parse(const char *bytes, size_t len, struct authority *out);
void authority_format(const struct authority *authority,
		      char out[AUTHORITY_TEXT_SIZE]);
bool authority_same_host(const struct authority *a, const struct authority *b);
