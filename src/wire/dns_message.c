/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_message.c - questions of a guest and what they are answered with
 */
#include "wire/dns_message.h"

#include <assert.h>
#include <string.h>

#include "wire/big_endian.h"

#define HEADER_BYTES 12
#define LABEL_MAX 63
#define NAME_BYTES_MAX 255 /* with lengths and the root */
#define CLASS_IN 1

#define FLAG_QR 0x8000     /* it is an answer */
#define FLAG_OPCODE 0x7800 /* 0: a standard query */
#define FLAG_TC 0x0200     /* cut */
#define FLAG_RD 0x0100     /* recursion desired, given back */
#define FLAG_RA 0x0080     /* ... and offered: glibc takes us for lame else */
#define FLAG_CD 0x0010     /* checking disabled, given back */
#define EDNS_DO 0x8000

#define RECORD_BYTES 16
#define EDNS_BYTES 11

static_assert(HEADER_BYTES + DNS_QUESTION_MAX + RECORD_BYTES + EDNS_BYTES <=
		      DNS_ANSWER_MAX,
	      "no answer needs more than every UDP message may have");

#define NAME_IS_QUESTION                                     \
	0xc00c /* pointer to the first byte after the header \
		*/

/*
 * Reads labels until the root. The text may be no host name, and then it is "";
 * -1 when the labels themselves are malformed.
 */
static int read_name(struct cursor *c, struct dns_query *out)
{
	char text[NAME_BYTES_MAX + 1];
	bool is_host = true;
	size_t len = 0;

	for (;;) {
		uint8_t label_len = cursor_u8(c);
		const char *label = cursor_bytes(c, label_len);

		if (!label)
			return -1;
		if (label_len == 0)
			break;
		/* The upper bits are those of pointers and other forms. */
		if (label_len > LABEL_MAX ||
		    len + label_len + 2 > NAME_BYTES_MAX)
			return -1;
		/* A dot in a label is no end of it. */
		is_host &= !memchr(label, '.', label_len);
		memcpy(text + len, label, label_len);
		len += label_len;
		text[len++] = '.';
	}
	out->is_root = len == 0;
	if (!is_host || hostname_canonical(text, len, out->name) < 0)
		out->name[0] = '\0';
	return 0;
}

static int read_question(struct cursor *c, struct dns_query *out)
{
	const uint8_t *start = c->pos;
	uint16_t class;

	if (read_name(c, out) < 0)
		return DNS_FORMERR;
	out->type = cursor_be16(c);
	class = cursor_be16(c);
	if (c->bad)
		return DNS_FORMERR;
	out->question = start;
	out->question_len = (size_t)(c->pos - start);
	return class == CLASS_IN ? DNS_NOERROR : DNS_REFUSED;
}

/* Options are not read, but they must be what they say. */
static bool options_are_whole(const void *bytes, size_t len)
{
	struct cursor c = cursor_over(bytes, len);

	while (cursor_left(&c) > 0 && !c.bad) {
		(void)cursor_be16(&c);
		(void)cursor_bytes(&c, cursor_be16(&c));
	}
	return !c.bad;
}

static int read_edns(struct cursor *c, struct dns_query *out)
{
	uint8_t root = cursor_u8(c);
	uint16_t type = cursor_be16(c);
	const void *udp_size = cursor_bytes(c, 2); /* every answer fits */
	uint8_t extended_rcode = cursor_u8(c);
	uint8_t version = cursor_u8(c);
	uint16_t flags = cursor_be16(c);
	uint16_t options_len = cursor_be16(c);
	const void *options = cursor_bytes(c, options_len);

	if (!options || !udp_size || root != 0 || type != DNS_TYPE_OPT ||
	    extended_rcode != 0)
		return DNS_FORMERR;
	out->has_edns = true;
	out->wants_dnssec = (flags & EDNS_DO) != 0;
	if (version != 0)
		return DNS_BADVERS;
	return options_are_whole(options, options_len) ? DNS_NOERROR
						       : DNS_FORMERR;
}

int dns_message_parse_query(const void *bytes, size_t len,
			    struct dns_query *out)
{
	struct cursor c = cursor_over(bytes, len);
	uint16_t questions, answers, authorities, additional;
	int rcode, edns = DNS_NOERROR;

	*out = (struct dns_query){ 0 };
	out->id = cursor_be16(&c);
	out->flags = cursor_be16(&c);
	questions = cursor_be16(&c);
	answers = cursor_be16(&c);
	authorities = cursor_be16(&c);
	additional = cursor_be16(&c);
	if (c.bad || (out->flags & FLAG_QR))
		return -1;
	if (out->flags & FLAG_OPCODE)
		return DNS_NOTIMP;
	if (len > DNS_QUERY_MAX || questions != 1 || answers != 0 ||
	    authorities != 0 || additional > 1)
		return DNS_FORMERR;
	rcode = read_question(&c, out);
	if (rcode == DNS_FORMERR)
		return rcode;
	if (additional)
		edns = read_edns(&c, out);
	if (edns == DNS_NOERROR && !cursor_done(&c))
		return DNS_FORMERR;
	return edns != DNS_NOERROR ? edns : rcode;
}

static void write_address(struct writer *w, const struct dns_answer *answer)
{
	writer_be16(w, NAME_IS_QUESTION);
	writer_be16(w, DNS_TYPE_A);
	writer_be16(w, CLASS_IN);
	writer_be32(w, answer->ttl_s);
	writer_be16(w, sizeof(answer->address));
	writer_bytes(w, answer->address, sizeof(answer->address));
}

static void write_edns(struct writer *w, const struct dns_query *query,
		       enum dns_rcode rcode)
{
	writer_u8(w, 0); /* the root */
	writer_be16(w, DNS_TYPE_OPT);
	writer_be16(w, DNS_UDP_SIZE);
	writer_u8(w, (uint8_t)(rcode >> 4));
	writer_u8(w, 0); /* version */
	writer_be16(w, query->wants_dnssec ? EDNS_DO : 0);
	writer_be16(w, 0); /* no options */
}

/* Header and question; what follows is counted, whether it fits or not. */
static void write_start(struct writer *w, const struct dns_query *query,
			uint16_t flags, bool has_address)
{
	writer_be16(w, query->id);
	writer_be16(w, flags);
	writer_be16(w, query->question_len ? 1 : 0);
	writer_be16(w, has_address ? 1 : 0);
	writer_be16(w, 0);
	writer_be16(w, query->has_edns ? 1 : 0);
	if (query->question_len)
		writer_bytes(w, query->question, query->question_len);
}

int dns_message_encode_answer(const struct dns_query *query,
			      const struct dns_answer *answer, void *out,
			      size_t size)
{
	bool has_address = answer->has_address && query->question_len;
	uint16_t flags =
		(uint16_t)(FLAG_QR | FLAG_RA | (answer->rcode & 0xf) |
			   (query->flags & (FLAG_OPCODE | FLAG_RD | FLAG_CD)));
	struct writer w = writer_over(out, size);
	struct dns_query cut = *query;

	write_start(&w, query, flags, has_address);
	if (has_address)
		write_address(&w, answer);
	if (query->has_edns)
		write_edns(&w, query, answer->rcode);
	if (!w.bad)
		return (int)writer_len(&w);
	w = writer_over(out, size);
	cut.has_edns = false;
	write_start(&w, &cut, flags | FLAG_TC, false);
	return w.bad ? -1 : (int)writer_len(&w);
}
