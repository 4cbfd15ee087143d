/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_message.h - questions of a guest and what they are answered with
 *
 * A query is one question and perhaps an OPT record; nothing in it may be
 * compressed, since nothing stands before the question that it could point to.
 * Answers hold at most one IPv4 address, so they fit into every UDP message.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/hostname.h"

#define DNS_QUERY_MAX 4096 /* a longer one is malformed */
#define DNS_ANSWER_MAX 512 /* every client takes that much by UDP */
#define DNS_QUESTION_MAX (255 + 4)
#define DNS_UDP_SIZE 1232 /* what we offer to take */

enum dns_type {
	DNS_TYPE_A = 1,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_SVCB = 64,
	DNS_TYPE_HTTPS = 65,
};

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* of EDNS; its upper bits travel in OPT */
};

struct dns_query {
	uint16_t id;
	uint16_t flags; /* as they came */
	uint16_t type;
	/* Borrowed from the query; as it came, in its letters; 0: not read */
	const uint8_t *question;
	size_t question_len;
	/* Canonical; "" when no host is called so, or it is the root. */
	char name[HOSTNAME_MAX + 1];
	bool is_root;
	bool has_edns;
	bool wants_dnssec; /* DO: only ever given back */
};

struct dns_answer {
	enum dns_rcode rcode;
	bool has_address; /* else there is no record in it */
	uint8_t address[4];
	uint32_t ttl_s;
};

/*
 * Returns the rcode that the answer must have, DNS_NOERROR when the question
 * may be answered; or -1: no answer is due (too short to have an id, or an
 * answer itself). *out is set in any case and can be answered when not -1.
 */
int dns_message_parse_query(const void *bytes, size_t len,
			    struct dns_query *out);

/*
 * Writes the answer with the question as it came. What does not fit into size
 * is left out and marked as cut (TC). Returns its length, or -1 when not even
 * header and question fit.
 */
int dns_message_encode_answer(const struct dns_query *query,
			      const struct dns_answer *answer, void *out,
			      size_t size);
