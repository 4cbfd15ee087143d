/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h - IPv4 and IPv6 addresses and ranges of them
 *
 * An address has one form only: an IPv4-mapped IPv6 address is the IPv4 address
 * that it means, whichever way it came in. So a struct can be compared and
 * hashed by its bytes. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADDRESS_V4 = 4,
	ADDRESS_V6 = 6,
};

#define ADDRESS_TEXT_SIZE 46 /* the longest text and its NUL */
#define CIDR_TEXT_SIZE (ADDRESS_TEXT_SIZE + 4)

struct address {
	uint8_t family;    /* ADDRESS_V4 or ADDRESS_V6 */
	uint8_t bytes[16]; /* network order; of IPv4 the first 4, the rest 0 */
};

struct cidr {
	struct address base; /* bits behind the prefix are 0 */
	uint8_t bits;        /* 0 to 32 or 128 */
};

/* Four bytes in network order. */
struct address address_v4(const uint8_t bytes[4]);
/* Sixteen bytes; a mapped address becomes IPv4. */
struct address address_v6(const uint8_t bytes[16]);
/* As it stands in a message; -1: unknown family, or IPv4 with bytes behind. */
int address_make(uint8_t family, const uint8_t bytes[16], struct address *out);

/*
 * A dotted quad without leading zeros, or IPv6 without zone and brackets;
 * nothing before or behind. -1 and *out all zero otherwise.
 */
int address_parse(const char *text, size_t len, struct address *out);
void address_format(const struct address *address, char out[ADDRESS_TEXT_SIZE]);
bool address_equal(const struct address *a, const struct address *b);
/* Its first bits, the rest 0; more bits than it has mean all. */
struct address address_masked(const struct address *address, unsigned bits);

/*
 * ADDRESS/BITS. Bits behind the prefix are cleared: 10.1.2.3/8 is 10.0.0.0/8.
 * A mapped range becomes an IPv4 range; one that is wider than all mapped
 * addresses (::ffff:0:0/90) is refused, since it would not mean what it says.
 * Returns 0, or 1 when bits were cleared, or -1.
 */
int cidr_parse(const char *text, size_t len, struct cidr *out);
void cidr_format(const struct cidr *range, char out[CIDR_TEXT_SIZE]);
/* Of another family: false. */
bool cidr_contains(const struct cidr *range, const struct address *address);

/*
 * Loopback, private, shared, link-local, metadata, multicast, reserved: what is
 * near the host or nowhere, also as an IPv4 address inside an IPv6 one. The
 * addresses of the host's own interfaces are for the caller to add. 198.18/15
 * is not among them: a host behind another gate of this kind gets its names
 * there.
 */
bool address_is_guarded(const struct address *address);
/*
 * All of the range lies inside one guarded range: whoever wrote it down meant
 * what is closed, and not merely everything. A range of IPv6 addresses that
 * hold IPv4 ones is not seen as such.
 */
bool cidr_is_guarded(const struct cidr *range);
/*
 * The IPv4 address that a network may turn this IPv6 address into (NAT64,
 * 6to4); -1: none.
 */
int address_embedded(const struct address *address, struct address *out);
