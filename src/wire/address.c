/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c - IPv4 and IPv6 addresses and ranges of them
 */
#include "wire/address.h"

#include <arpa/inet.h>
#include <string.h>

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

static bool is_guarded_v4(const uint8_t bytes[4])
{
	static const struct {
		uint32_t base;
		unsigned bits;
	} ranges[] = {
		{ 0x00000000, 8 },  /* 0.0.0.0: this host */
		{ 0x0a000000, 8 },  /* 10.0.0.0: private */
		{ 0x64400000, 10 }, /* 100.64.0.0: shared, carrier, VPN */
		{ 0x7f000000, 8 },  /* 127.0.0.0: loopback */
		{ 0xa83f8110, 32 }, /* 168.63.129.16: a cloud's metadata */
		{ 0xa9fe0000, 16 }, /* 169.254.0.0: link-local, metadata */
		{ 0xac100000, 12 }, /* 172.16.0.0: private */
		{ 0xc0000000, 24 }, /* 192.0.0.0: protocol assignments */
		{ 0xc0a80000, 16 }, /* 192.168.0.0: private */
		{ 0xe0000000, 3 },  /* 224.0.0.0: multicast, reserved */
	};
	uint32_t value = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
			 (uint32_t)bytes[2] << 8 | bytes[3];

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if ((value ^ ranges[i].base) >> (32 - ranges[i].bits) == 0)
			return true;
	}
	return false;
}

static bool is_guarded_v6_range(const struct address *address)
{
	static const struct cidr ranges[] = {
		{ { ADDRESS_V6, { 0xfc } }, 7 },        /* private */
		{ { ADDRESS_V6, { 0xfe, 0x80 } }, 10 }, /* link-local */
		{ { ADDRESS_V6, { 0xfe, 0xc0 } }, 10 }, /* site-local */
		{ { ADDRESS_V6, { 0xff } }, 8 },        /* multicast */
		/* NAT64 of a network's own: where it leads is not ours to know.
		 */
		{ { ADDRESS_V6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (cidr_contains(&ranges[i], address))
			return true;
	}
	return false;
}

/* Teredo holds two: its server's, and its client's with all bits turned. */
static bool is_guarded_teredo(const uint8_t bytes[16])
{
	uint8_t client[4];

	for (size_t i = 0; i < sizeof(client); i++)
		client[i] = (uint8_t)~bytes[12 + i];
	return is_guarded_v4(bytes + 4) || is_guarded_v4(client);
}

static bool is_guarded_embedded(const struct address *address)
{
	static const struct {
		struct cidr range;
		uint8_t at; /* where the four bytes are */
	} holders[] = {
		{ { { ADDRESS_V6, { 0 } }, 96 }, 12 }, /* ::, ::1, compatible */
		{ { { ADDRESS_V6, { 0, 0x64, 0xff, 0x9b } }, 96 }, 12 },
		{ { { ADDRESS_V6, { 0x20, 0x02 } }, 16 }, 2 }, /* 6to4 */
	};
	static const struct cidr teredo = {
		{ ADDRESS_V6, { 0x20, 0x01 } },
		32,
	};

	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		if (cidr_contains(&holders[i].range, address))
			return is_guarded_v4(address->bytes + holders[i].at);
	}
	return cidr_contains(&teredo, address) &&
	       is_guarded_teredo(address->bytes);
}

bool address_is_guarded(const struct address *address)
{
	if (address->family == ADDRESS_V4)
		return is_guarded_v4(address->bytes);
	if (address->family != ADDRESS_V6)
		return true;
	return is_guarded_v6_range(address) || is_guarded_embedded(address);
}
