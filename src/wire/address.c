/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c - IPv4 and IPv6 addresses and ranges of them
 */
#include "wire/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

#define V4_BITS 32
#define V6_BITS 128
#define MAPPED_BITS 96 /* of ::ffff:0:0/96 */

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

struct address address_v4(const uint8_t bytes[4])
{
	struct address address = { .family = ADDRESS_V4 };

	memcpy(address.bytes, bytes, 4);
	return address;
}

struct address address_v6(const uint8_t bytes[16])
{
	struct address address = { .family = ADDRESS_V6 };

	if (memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0)
		return address_v4(bytes + sizeof(mapped_prefix));
	memcpy(address.bytes, bytes, sizeof(address.bytes));
	return address;
}

int address_make(uint8_t family, const uint8_t bytes[16], struct address *out)
{
	static const uint8_t none[12];

	*out = (struct address){ 0 };
	if (family == ADDRESS_V6)
		*out = address_v6(bytes);
	else if (family == ADDRESS_V4 &&
		 memcmp(bytes + 4, none, sizeof(none)) == 0)
		*out = address_v4(bytes);
	else
		return -1;
	return 0;
}

int address_parse(const char *text, size_t len, struct address *out)
{
	char copy[ADDRESS_TEXT_SIZE];
	uint8_t bytes[16];

	*out = (struct address){ 0 };
	if (len == 0 || len >= sizeof(copy) || memchr(text, '\0', len))
		return -1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET, copy, bytes) == 1)
		*out = address_v4(bytes);
	else if (inet_pton(AF_INET6, copy, bytes) == 1)
		*out = address_v6(bytes);
	else
		return -1;
	return 0;
}

void address_format(const struct address *address, char out[ADDRESS_TEXT_SIZE])
{
	int family = address->family == ADDRESS_V4 ? AF_INET : AF_INET6;

	if (!inet_ntop(family, address->bytes, out, ADDRESS_TEXT_SIZE))
		out[0] = '\0';
}

bool address_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

struct address address_masked(const struct address *address, unsigned bits)
{
	struct address masked = { .family = address->family };
	size_t whole = bits / 8;

	if (bits >= V6_BITS)
		return *address;
	memcpy(masked.bytes, address->bytes, whole);
	masked.bytes[whole] =
		(uint8_t)(address->bytes[whole] & ~(0xff >> bits % 8));
	return masked;
}

/* Up to three digits without leading zeros. */
static int parse_bits(const char *text, size_t len)
{
	int bits = 0;

	if (len == 0 || len > 3 || (len > 1 && text[0] == '0'))
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		bits = bits * 10 + (text[i] - '0');
	}
	return bits;
}

int cidr_parse(const char *text, size_t len, struct cidr *out)
{
	const char *slash = len ? memchr(text, '/', len) : NULL;
	size_t address_len = slash ? (size_t)(slash - text) : 0;
	struct address address;
	int bits;

	*out = (struct cidr){ 0 };
	if (!slash || address_parse(text, address_len, &address) < 0)
		return -1;
	bits = parse_bits(slash + 1, len - address_len - 1);
	/* It was written as IPv6, and so are its bits. */
	if (address.family == ADDRESS_V4 && memchr(text, ':', address_len))
		bits -= MAPPED_BITS;
	if (bits < 0 ||
	    bits > (address.family == ADDRESS_V4 ? V4_BITS : V6_BITS))
		return -1;
	out->base = address_masked(&address, (unsigned)bits);
	out->bits = (uint8_t)bits;
	return address_equal(&out->base, &address) ? 0 : 1;
}

void cidr_format(const struct cidr *range, char out[CIDR_TEXT_SIZE])
{
	char base[ADDRESS_TEXT_SIZE];

	address_format(&range->base, base);
	(void)text_format(out, CIDR_TEXT_SIZE, "%s/%u", base, range->bits);
}

bool cidr_contains(const struct cidr *range, const struct address *address)
{
	struct address base = address_masked(address, range->bits);

	return address_equal(&base, &range->base);
}

/*
 * Ranges are compared as numbers: this is asked for every connection, and a
 * walk over them must cost less than what it guards.
 */
struct range_v4 {
	uint32_t base, mask;
};

struct range_v6 {
	uint64_t base, mask; /* the upper half; the lower does not count */
};

#define V4(base, bits)                                 \
	{                                              \
		base, UINT32_MAX << (V4_BITS - (bits)) \
	}
#define V6(base, bits)                            \
	{                                         \
		base, UINT64_MAX << (64 - (bits)) \
	}

static const struct range_v4 guarded_v4[] = {
	V4(0x00000000, 8),  /* 0.0.0.0: this host */
	V4(0x0a000000, 8),  /* 10.0.0.0: private */
	V4(0x64400000, 10), /* 100.64.0.0: shared: carrier, VPN */
	V4(0x7f000000, 8),  /* 127.0.0.0: loopback */
	V4(0xa83f8110, 32), /* 168.63.129.16: a cloud's metadata */
	V4(0xa9fe0000, 16), /* 169.254.0.0: link-local, metadata */
	V4(0xac100000, 12), /* 172.16.0.0: private */
	V4(0xc0000000, 24), /* 192.0.0.0: protocol assignments */
	V4(0xc0a80000, 16), /* 192.168.0.0: private */
	V4(0xe0000000, 3),  /* 224.0.0.0: multicast, reserved */
};

static const struct range_v6 guarded_v6[] = {
	V6(0xfc00000000000000, 7),  /* private */
	V6(0xfe80000000000000, 10), /* link-local */
	V6(0xfec0000000000000, 10), /* site-local */
	V6(0xff00000000000000, 8),  /* multicast */
	/* NAT64 of a network's own: where it leads is not ours to know. */
	V6(0x0064ff9b00010000, 48),
};

static uint64_t number(const uint8_t *bytes, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* mask: of the bits that count; all addresses that have them alike. */
static bool is_guarded_v4(uint32_t value, uint32_t mask)
{
	for (size_t i = 0; i < ARRAY_SIZE(guarded_v4); i++) {
		const struct range_v4 *range = &guarded_v4[i];

		if ((value & range->mask) == range->base)
			return (mask & range->mask) == range->mask;
	}
	return false;
}

static bool is_guarded_v6_range(uint64_t value, uint64_t mask)
{
	for (size_t i = 0; i < ARRAY_SIZE(guarded_v6); i++) {
		const struct range_v6 *range = &guarded_v6[i];

		if ((value & range->mask) == range->base)
			return (mask & range->mask) == range->mask;
	}
	return false;
}

/* Teredo holds two: its server's, and its client's with all bits turned. */
static bool is_guarded_teredo(uint64_t high, uint64_t low)
{
	return is_guarded_v4((uint32_t)high, UINT32_MAX) ||
	       is_guarded_v4(~(uint32_t)low, UINT32_MAX);
}

/* What a network may make of an IPv6 address: NAT64, 6to4. */
static bool translated_v4(uint64_t high, uint64_t low, uint32_t *v4)
{
	bool nat64 = high == 0x0064ff9b00000000 && low >> 32 == 0;

	*v4 = (uint32_t)(nat64 ? low : high >> 16);
	return nat64 || high >> 48 == 0x2002;
}

int address_embedded(const struct address *address, struct address *out)
{
	uint8_t bytes[4];
	uint32_t v4;

	if (address->family != ADDRESS_V6 ||
	    !translated_v4(number(address->bytes, 8),
			   number(address->bytes + 8, 8), &v4))
		return -1;
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(v4 >> (24 - 8 * i));
	*out = address_v4(bytes);
	return 0;
}

bool address_is_guarded(const struct address *address)
{
	uint64_t high, low;
	uint32_t v4;

	if (address->family == ADDRESS_V4)
		return is_guarded_v4((uint32_t)number(address->bytes, 4),
				     UINT32_MAX);
	if (address->family != ADDRESS_V6)
		return true;
	high = number(address->bytes, 8);
	low = number(address->bytes + 8, 8);
	if (is_guarded_v6_range(high, UINT64_MAX))
		return true;
	if (translated_v4(high, low, &v4))
		return is_guarded_v4(v4, UINT32_MAX);
	if (high == 0 && low >> 32 == 0) /* ::, ::1, compatible */
		return is_guarded_v4((uint32_t)low, UINT32_MAX);
	return high >> 32 == 0x20010000 && is_guarded_teredo(high, low);
}

bool cidr_is_guarded(const struct cidr *range)
{
	const uint8_t *bytes = range->base.bytes;
	uint64_t mask = 0;

	/* Bits behind the first 64 are in no range. */
	if (range->bits > 0)
		mask = UINT64_MAX << (range->bits < 64 ? 64 - range->bits : 0);
	if (range->base.family == ADDRESS_V4)
		return is_guarded_v4((uint32_t)number(bytes, 4),
				     (uint32_t)(mask >> V4_BITS));
	return is_guarded_v6_range(number(bytes, 8), mask);
}
