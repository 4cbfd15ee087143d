/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netlink.h - requests to the kernel's network, as bytes
 *
 * A request is built in memory (pure), as many messages as one likes, and is
 * sent with one write. Attributes nest: netlink_begin() and netlink_end().
 * What does not fit is remembered and makes the sending fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define NETLINK_BYTES_MAX (64u * 1024)

struct netlink {
	uint8_t *bytes; /* owned */
	size_t len;
	size_t message;  /* where the last message begins */
	unsigned wanted; /* messages that will be acknowledged */
	uint32_t number; /* of the last message */
	bool bad;        /* something did not fit */
};

void netlink_init(struct netlink *nl);
void netlink_release(struct netlink *nl);

/* flags: beside NLM_F_REQUEST; with NLM_F_ACK the kernel answers it. */
void netlink_message(struct netlink *nl, uint16_t type, uint16_t flags,
		     const void *header, size_t header_len);
void netlink_bytes(struct netlink *nl, uint16_t type, const void *value,
		   size_t len);
void netlink_text(struct netlink *nl, uint16_t type, const char *text);
void netlink_u32(struct netlink *nl, uint16_t type, uint32_t value);
void netlink_be32(struct netlink *nl, uint16_t type, uint32_t value);
void netlink_u8(struct netlink *nl, uint16_t type, uint8_t value);
/* Returns where the attribute begins, for netlink_end(). */
size_t netlink_begin(struct netlink *nl, uint16_t type);
void netlink_end(struct netlink *nl, size_t begin);

/*
 * Sends all of it over a socket of that protocol (NETLINK_ROUTE and so on) and
 * waits until everything is acknowledged; -1 with the kernel's first error.
 */
int netlink_send(const struct netlink *nl, int protocol, struct error *err);
/*
 * Looks through the kernel's answers: counts acknowledgements, returns the
 * first error (a positive errno) or 0, -1 when it is no netlink. Pure.
 */
int netlink_answers(const void *bytes, size_t len, unsigned *count);
