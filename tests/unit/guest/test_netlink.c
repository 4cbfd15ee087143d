/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_netlink.c - requests to the kernel byte by byte, and its answers
 *
 * Walks what was encoded as the kernel does: every length is inside, every
 * message and attribute is aligned. That the kernel takes it is shown by the
 * component and end-to-end tests.
 */
#include "guest/netlink.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "guest/net_link.h"
#include "guest/net_rules.h"
#include "lib/tap.h"

static unsigned attributes; /* that walk() saw */

/* True when the bytes are attributes, and the nested ones are, too. */
static bool walk(const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		struct nlattr head;
		size_t whole;

		if (len < sizeof(head))
			return false;
		memcpy(&head, bytes, sizeof(head));
		whole = ((size_t)head.nla_len + 3) & ~(size_t)3;
		if (head.nla_len < sizeof(head) || whole > len)
			return false;
		attributes++;
		if (head.nla_type & NLA_F_NESTED &&
		    !walk(bytes + sizeof(head), head.nla_len - sizeof(head)))
			return false;
		bytes += whole;
		len -= whole;
	}
	return true;
}

/* The number of messages, or -1; header: of each, after the first 16 bytes. */
static int walk_messages(const struct netlink *nl, size_t header,
			 uint16_t *types)
{
	int count = 0;
	size_t at = 0;

	while (at < nl->len) {
		struct nlmsghdr head;

		if (nl->len - at < sizeof(head))
			return -1;
		memcpy(&head, nl->bytes + at, sizeof(head));
		if (head.nlmsg_len < sizeof(head) + header ||
		    head.nlmsg_len > nl->len - at || head.nlmsg_len % 4 ||
		    !(head.nlmsg_flags & NLM_F_REQUEST) ||
		    !walk(nl->bytes + at + sizeof(head) + header,
			  head.nlmsg_len - sizeof(head) - header))
			return -1;
		if (types)
			types[count] = head.nlmsg_type;
		count++;
		at += head.nlmsg_len;
	}
	return count;
}

static void a_message_is_these_bytes(void)
{
	static const uint8_t expected[] = {
		/* length 64, type 0x10, REQUEST|ACK|CREATE|EXCL, number 1 */
		60,
		0,
		0,
		0,
		0x10,
		0,
		0x05,
		0x06,
		1,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		/* the header given */
		'h',
		'e',
		'a',
		'd',
		/* text "ab", padded; number; byte, padded */
		7,
		0,
		3,
		0,
		'a',
		'b',
		0,
		0,
		8,
		0,
		4,
		0,
		0x78,
		0x56,
		0x34,
		0x12,
		5,
		0,
		5,
		0,
		9,
		0,
		0,
		0,
		/* nested: a number in the order of the network */
		12,
		0,
		6,
		0x80,
		8,
		0,
		7,
		0,
		0x12,
		0x34,
		0x56,
		0x78,
		/* empty */
		4,
		0,
		8,
		0,
	};
	struct netlink nl;
	size_t nest;

	netlink_init(&nl);
	netlink_message(&nl, 0x10, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
			"head", 4);
	netlink_text(&nl, 3, "ab");
	netlink_u32(&nl, 4, 0x12345678);
	netlink_u8(&nl, 5, 9);
	nest = netlink_begin(&nl, 6);
	netlink_be32(&nl, 7, 0x12345678);
	netlink_end(&nl, nest);
	netlink_bytes(&nl, 8, NULL, 0);
	CHECK(nl.len == sizeof(expected) && nl.wanted == 1);
	CHECK(!memcmp(nl.bytes, expected, sizeof(expected)));
	netlink_release(&nl);
}

static void what_does_not_fit_is_not_sent(void)
{
	struct netlink nl;
	struct error err;
	size_t nest;

	netlink_init(&nl);
	netlink_message(&nl, 1, NLM_F_ACK, "head", 4);
	nest = netlink_begin(&nl, 1);
	for (int i = 0; i < 20000; i++)
		netlink_u32(&nl, 2, 7);
	netlink_end(&nl, nest);
	netlink_message(&nl, 1, NLM_F_ACK, "head", 4);
	CHECK(nl.bad && nl.len <= NETLINK_BYTES_MAX);
	CHECK(netlink_send(&nl, NETLINK_ROUTE, &err) == -1);
	CHECK(err.code == EMSGSIZE);
	netlink_release(&nl);
}

static void the_interface_is_asked_for_in_four_messages(void)
{
	static const uint16_t expected[] = { RTM_NEWLINK, RTM_NEWADDR,
					     RTM_NEWLINK, RTM_NEWROUTE };
	static const size_t headers[] = { sizeof(struct ifinfomsg),
					  sizeof(struct ifaddrmsg),
					  sizeof(struct ifinfomsg),
					  sizeof(struct rtmsg) };

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct netlink nl;
		uint16_t type = 0;

		netlink_init(&nl);
		if (i == 0)
			net_link_encode_add(&nl);
		else if (i == 1)
			net_link_encode_address(&nl, 7);
		else if (i == 2)
			net_link_encode_up(&nl, 7);
		else
			net_link_encode_route(&nl, 7);
		CHECK(walk_messages(&nl, headers[i], &type) == 1);
		CHECK(type == expected[i] && nl.wanted == 1);
		netlink_release(&nl);
	}
}

static bool contains(const struct netlink *nl, const void *bytes, size_t len)
{
	return memmem(nl->bytes, nl->len, bytes, len) != NULL;
}

static void the_rules_are_one_batch(void)
{
	static const uint8_t relay_port[] = { 0xee, 0x7d };
	uint16_t types[64] = { 0 };
	struct netlink nl;
	int count;

	attributes = 0;
	netlink_init(&nl);
	net_rules_encode(&nl);
	count = walk_messages(&nl, sizeof(struct nfgenmsg), types);
	/* begin, the old table, the new one, 4 chains, 10 rules, end */
	CHECK(count == 1 + 2 + 1 + 4 + 10 + 1 && !nl.bad);
	CHECK(nl.wanted == (unsigned)count - 2);
	CHECK(types[0] == NFNL_MSG_BATCH_BEGIN);
	CHECK(types[count - 1] == NFNL_MSG_BATCH_END);
	for (int i = 1; i < count - 1; i++)
		CHECK(types[i] >> 8 == NFNL_SUBSYS_NFTABLES);
	CHECK((types[2] & 0xff) == NFT_MSG_DELTABLE);
	CHECK(attributes > 100);
	CHECK(contains(&nl, "bawn0", 6) && contains(&nl, "redir", 6));
	CHECK(contains(&nl, relay_port, sizeof(relay_port)));
	netlink_release(&nl);
}

static void forwards_are_a_set_or_nothing(void)
{
	uint16_t ports[256], types[64] = { 0 };
	struct netlink nl;

	for (unsigned i = 0; i < ARRAY_SIZE(ports); i++)
		ports[i] = (uint16_t)(i + 1000);
	netlink_init(&nl);
	net_rules_encode_forward(&nl, ports, ARRAY_SIZE(ports));
	CHECK(!nl.bad);
	/* begin, old, new, set, its elements, chain, 2 rules, end */
	CHECK(walk_messages(&nl, sizeof(struct nfgenmsg), types) == 10);
	CHECK(contains(&nl, "tproxy", 7) && contains(&nl, "socket", 7));
	netlink_release(&nl);

	netlink_init(&nl);
	net_rules_encode_forward(&nl, NULL, 0);
	CHECK(walk_messages(&nl, sizeof(struct nfgenmsg), types) == 4);
	CHECK(!contains(&nl, "tproxy", 7));
	netlink_release(&nl);
}

static size_t answer(uint8_t *out, uint16_t type, int32_t code)
{
	struct nlmsghdr head = { .nlmsg_len = sizeof(head) + sizeof(code),
				 .nlmsg_type = type };

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), &code, sizeof(code));
	return sizeof(head) + sizeof(code);
}

static void answers_are_counted_and_errors_found(void)
{
	uint8_t bytes[256];
	unsigned count = 0;
	size_t len = 0;

	for (int i = 0; i < 3; i++)
		len += answer(bytes + len, NLMSG_ERROR, 0);
	len += answer(bytes + len, RTM_NEWLINK, -5); /* news, no answer */
	CHECK(netlink_answers(bytes, len, &count) == 0 && count == 3);
	len += answer(bytes + len, NLMSG_ERROR, -EEXIST);
	CHECK(netlink_answers(bytes, len, &count) == EEXIST);
	for (size_t cut = 0; cut < len; cut++) {
		AUTO_FREE uint8_t *exact = xmalloc(cut ? cut : 1);

		memcpy(exact, bytes, cut);
		CHECK(netlink_answers(exact, cut, &count) <= 0);
	}
	answer(bytes, NLMSG_ERROR, INT32_MIN);
	CHECK(netlink_answers(bytes, 20, &count) == -1);
	answer(bytes, NLMSG_ERROR, 5);
	CHECK(netlink_answers(bytes, 20, &count) == -1);
	bytes[0] = 3; /* shorter than its own header: would never end */
	CHECK(netlink_answers(bytes, 20, &count) == -1);
	bytes[0] = 16;
	CHECK(netlink_answers(bytes, 16, &count) == -1);
}

int main(void)
{
	RUN(a_message_is_these_bytes);
	RUN(what_does_not_fit_is_not_sent);
	RUN(the_interface_is_asked_for_in_four_messages);
	RUN(the_rules_are_one_batch);
	RUN(forwards_are_a_set_or_nothing);
	RUN(answers_are_counted_and_errors_found);
	return DONE();
}
