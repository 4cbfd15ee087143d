/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_hello.h - a ClientHello of fixed size that carries a number, and a DNS
 * question, for net_driver.c
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NET_HELLO_MAX 517 /* as browsers pad it */

static inline uint8_t *net_hello_u16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

/* Always NET_HELLO_MAX bytes: SNI, then padding with the number at its end. */
static inline size_t net_hello_make(const char *name, uint64_t number,
				    uint8_t *out)
{
	size_t len = strlen(name), rest;
	uint8_t *at = out;

	memset(out, 0, NET_HELLO_MAX);
	memcpy(at, "\x16\x03\x01", 3);
	at = net_hello_u16(at + 3, NET_HELLO_MAX - 5);
	*at++ = 1; /* ClientHello */
	*at++ = 0;
	at = net_hello_u16(at, NET_HELLO_MAX - 9);
	at = net_hello_u16(at, 0x0303);
	at += 32 + 1; /* random, no session */
	at = net_hello_u16(at, 2);
	at = net_hello_u16(at, 0x1301);
	at = net_hello_u16(at, 0x0100); /* one compression: none */
	rest = NET_HELLO_MAX - (size_t)(at - out) - 2;
	at = net_hello_u16(at, rest);
	at = net_hello_u16(at, 0); /* server name */
	at = net_hello_u16(at, len + 5);
	at = net_hello_u16(at, len + 3);
	*at++ = 0;
	at = net_hello_u16(at, len);
	memcpy(at, name, len);
	at += len;
	at = net_hello_u16(at, 21); /* padding */
	net_hello_u16(at, NET_HELLO_MAX - (size_t)(at - out) - 2);
	memcpy(out + NET_HELLO_MAX - 8, &number, 8);
	return NET_HELLO_MAX;
}

/* A question for the address of a name. */
static inline size_t net_hello_dns(const char *name, uint8_t *out)
{
	static const uint8_t head[12] = { 0, 1, 1, 0, 0, 1 };
	uint8_t *at = out + sizeof(head), *label = at++;

	memcpy(out, head, sizeof(head));
	for (*label = 0; *name; name++) {
		if (*name == '.') {
			label = at++;
			*label = 0;
			continue;
		}
		*at++ = (uint8_t)*name;
		++*label;
	}
	memcpy(at, "\0\0\1\0\1", 5);
	return (size_t)(at - out) + 5;
}
