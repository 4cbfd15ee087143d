/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_rules.c - packet rules that lead everything to the relay
 *
 * The rules are data: a rule is a chain and a few steps, each of which becomes
 * one or two expressions of nf_tables. A step that does not hold ends its
 * rule. Values go through register 1, one after the other.
 */
#include "guest/net_rules.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/own.h"
#include "guest/net_link.h"
#include "guest/netlink.h"

#define GATE_TABLE "bawn"
#define FORWARD_TABLE "bawn_forward"
#define FORWARD_SET "ports"
#define TYPE_INET_SERVICE 13 /* how `nft list` shows the set's elements */
#define STEPS_MAX 7
#define DNS_PORT 53

enum step_kind {
	END,
	OUT_BY,     /* would leave by this interface */
	IN_BY,      /* came in by it */
	ROUTED_BY,  /* would be forwarded through it */
	IPV4,       /* is IPv4 */
	TO_GUEST,   /* goes to the guest's own address */
	PROTOCOL,   /* is TCP or UDP */
	TO_PORT,    /* has this destination port */
	TO_FORWARD, /* has a destination port of the set */
	NOT_MARKED, /* is not of the relay itself */
	NOT_TURNED, /* has not been sent back to this machine */
	HAS_SOCKET, /* somebody here has a socket for it */
	REDIRECT,   /* to this port of this machine */
	TAKE,       /* by a transparent listener on this port */
	REJECT,     /* and say so */
	ACCEPT,
};

struct step {
	enum step_kind kind;
	uint32_t value;
	const char *name;
};

struct rule {
	const char *chain;
	struct step steps[STEPS_MAX];
};

struct chain {
	const char *name, *type;
	uint32_t hook;
	int32_t priority;
};

struct table {
	const char *name;
	const struct chain *chains;
	size_t chain_count;
	const struct rule *rules;
	size_t rule_count;
};

#define OUTSIDE                          \
	{                                \
		OUT_BY, 0, NET_INTERFACE \
	}
#define CONTAINER_OUTSIDE                   \
	{                                   \
		ROUTED_BY, 0, NET_INTERFACE \
	}
#define TCP                                 \
	{                                   \
		PROTOCOL, IPPROTO_TCP, NULL \
	}
#define UDP                                 \
	{                                   \
		PROTOCOL, IPPROTO_UDP, NULL \
	}
#define DNS                             \
	{                               \
		TO_PORT, DNS_PORT, NULL \
	}
#define TO_RELAY                               \
	{                                      \
		REDIRECT, NET_RELAY_PORT, NULL \
	}
#define JUST(kind)            \
	{                     \
		kind, 0, NULL \
	}

static const struct chain gate_chains[] = {
	{ "process", "nat", NF_INET_LOCAL_OUT, -100 },
	{ "container", "nat", NF_INET_PRE_ROUTING, -100 },
	{ "process_else", "filter", NF_INET_LOCAL_OUT, 0 },
	{ "container_else", "filter", NF_INET_FORWARD, 0 },
};

static const struct rule gate_rules[] = {
	{ "process", { OUTSIDE, TCP, TO_RELAY } },
	{ "process", { OUTSIDE, UDP, DNS, TO_RELAY } },
	{ "process", { JUST(IPV4), JUST(TO_GUEST), UDP, DNS, TO_RELAY } },
	{ "process", { JUST(IPV4), JUST(TO_GUEST), TCP, DNS, TO_RELAY } },
	{ "container", { CONTAINER_OUTSIDE, TCP, TO_RELAY } },
	{ "container", { CONTAINER_OUTSIDE, UDP, DNS, TO_RELAY } },
	{ "container", { JUST(IPV4), JUST(TO_GUEST), UDP, DNS, TO_RELAY } },
	{ "container", { JUST(IPV4), JUST(TO_GUEST), TCP, DNS, TO_RELAY } },
	{ "process_else", { OUTSIDE, JUST(NOT_TURNED), JUST(REJECT) } },
	{ "container_else", { OUTSIDE, JUST(REJECT) } },
};

static const struct table gate = { GATE_TABLE, gate_chains,
				   ARRAY_SIZE(gate_chains), gate_rules,
				   ARRAY_SIZE(gate_rules) };

static const struct chain forward_chains[] = {
	{ "loopback", "filter", NF_INET_PRE_ROUTING, -150 },
};

#define FORWARDED { IN_BY, 0, "lo" }, TCP, JUST(TO_FORWARD), JUST(NOT_MARKED)

static const struct rule forward_rules[] = {
	{ "loopback", { FORWARDED, JUST(HAS_SOCKET), JUST(ACCEPT) } },
	{ "loopback",
	  { FORWARDED, { TAKE, NET_FORWARD_PORT, NULL }, JUST(ACCEPT) } },
};

static const struct table forward = { FORWARD_TABLE, forward_chains,
				      ARRAY_SIZE(forward_chains), forward_rules,
				      ARRAY_SIZE(forward_rules) };

static void message(struct netlink *nl, int type, uint16_t flags)
{
	struct nfgenmsg header = { .nfgen_family = NFPROTO_INET,
				   .version = NFNETLINK_V0 };

	netlink_message(nl, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
			NLM_F_ACK | flags, &header, sizeof(header));
}

/* All or nothing: the kernel takes what is between the two. */
static void batch(struct netlink *nl, uint16_t type)
{
	struct nfgenmsg header = { .version = NFNETLINK_V0,
				   .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	netlink_message(nl, type, 0, &header, sizeof(header));
}

static size_t begin_expression(struct netlink *nl, const char *name,
			       size_t *data)
{
	size_t element = netlink_begin(nl, NFTA_LIST_ELEM);

	netlink_text(nl, NFTA_EXPR_NAME, name);
	*data = netlink_begin(nl, NFTA_EXPR_DATA);
	return element;
}

/* An expression whose attributes are all numbers. */
static void expression(struct netlink *nl, const char *name,
		       const uint32_t (*pairs)[2], size_t count)
{
	size_t data, element = begin_expression(nl, name, &data);

	for (size_t i = 0; i < count; i++)
		netlink_be32(nl, (uint16_t)pairs[i][0], pairs[i][1]);
	netlink_end(nl, data);
	netlink_end(nl, element);
}

#define EXPRESSION(nl, name, ...)                                  \
	expression(nl, name, (const uint32_t[][2]){ __VA_ARGS__ }, \
		   sizeof((const uint32_t[][2]){ __VA_ARGS__ }) /  \
			   sizeof(uint32_t[2]))

static void value(struct netlink *nl, uint16_t type, const void *bytes,
		  size_t len)
{
	size_t data = netlink_begin(nl, type);

	netlink_bytes(nl, NFTA_DATA_VALUE, bytes, len);
	netlink_end(nl, data);
}

static void compare(struct netlink *nl, uint32_t how, const void *bytes,
		    size_t len)
{
	size_t data, element = begin_expression(nl, "cmp", &data);

	netlink_be32(nl, NFTA_CMP_SREG, NFT_REG_1);
	netlink_be32(nl, NFTA_CMP_OP, how);
	value(nl, NFTA_CMP_DATA, bytes, len);
	netlink_end(nl, data);
	netlink_end(nl, element);
}

static void compare_interface(struct netlink *nl, const char *name)
{
	char padded[IFNAMSIZ] = { 0 };

	memcpy(padded, name, strlen(name));
	compare(nl, NFT_CMP_EQ, padded, sizeof(padded));
}

static void load_meta(struct netlink *nl, uint32_t key)
{
	EXPRESSION(nl, "meta", { NFTA_META_DREG, NFT_REG_1 },
		   { NFTA_META_KEY, key });
}

static void load_payload(struct netlink *nl, uint32_t base, uint32_t offset,
			 uint32_t len)
{
	EXPRESSION(nl, "payload", { NFTA_PAYLOAD_DREG, NFT_REG_1 },
		   { NFTA_PAYLOAD_BASE, base }, { NFTA_PAYLOAD_OFFSET, offset },
		   { NFTA_PAYLOAD_LEN, len });
}

static void load_port(struct netlink *nl, uint32_t port)
{
	uint16_t wire = htons((uint16_t)port);
	size_t data, element = begin_expression(nl, "immediate", &data);

	netlink_be32(nl, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	value(nl, NFTA_IMMEDIATE_DATA, &wire, sizeof(wire));
	netlink_end(nl, data);
	netlink_end(nl, element);
}

static void look_up(struct netlink *nl, const char *set)
{
	size_t data, element = begin_expression(nl, "lookup", &data);

	netlink_text(nl, NFTA_LOOKUP_SET, set);
	netlink_be32(nl, NFTA_LOOKUP_SREG, NFT_REG_1);
	netlink_end(nl, data);
	netlink_end(nl, element);
}

static void reject(struct netlink *nl)
{
	size_t data, element = begin_expression(nl, "reject", &data);

	netlink_be32(nl, NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	netlink_u8(nl, NFTA_REJECT_ICMP_CODE,
		   NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
	netlink_end(nl, data);
	netlink_end(nl, element);
}

static void accept_packet(struct netlink *nl)
{
	size_t data, element = begin_expression(nl, "immediate", &data);
	size_t holder, verdict;

	netlink_be32(nl, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	holder = netlink_begin(nl, NFTA_IMMEDIATE_DATA);
	verdict = netlink_begin(nl, NFTA_DATA_VERDICT);
	netlink_be32(nl, NFTA_VERDICT_CODE, NF_ACCEPT);
	netlink_end(nl, verdict);
	netlink_end(nl, holder);
	netlink_end(nl, data);
	netlink_end(nl, element);
}

static void encode_match(struct netlink *nl, const struct step *step)
{
	const uint8_t byte = (uint8_t)step->value, ipv4 = NFPROTO_IPV4;
	const uint16_t port = htons((uint16_t)step->value);
	const uint32_t mark = NET_RELAY_MARK;
	const uint8_t loopback = IN_LOOPBACKNET;
	struct in_addr address;

	switch (step->kind) {
	case OUT_BY:
		load_meta(nl, NFT_META_OIFNAME);
		compare_interface(nl, step->name);
		break;
	case IN_BY:
		load_meta(nl, NFT_META_IIFNAME);
		compare_interface(nl, step->name);
		break;
	case ROUTED_BY:
		EXPRESSION(nl, "fib", { NFTA_FIB_DREG, NFT_REG_1 },
			   { NFTA_FIB_RESULT, NFT_FIB_RESULT_OIFNAME },
			   { NFTA_FIB_FLAGS, NFTA_FIB_F_DADDR });
		compare_interface(nl, step->name);
		break;
	case IPV4:
		load_meta(nl, NFT_META_NFPROTO);
		compare(nl, NFT_CMP_EQ, &ipv4, sizeof(ipv4));
		break;
	case TO_GUEST:
		inet_pton(AF_INET, NET_ADDRESS, &address);
		load_payload(nl, NFT_PAYLOAD_NETWORK_HEADER, 16,
			     sizeof(address));
		compare(nl, NFT_CMP_EQ, &address, sizeof(address));
		break;
	case PROTOCOL:
		load_meta(nl, NFT_META_L4PROTO);
		compare(nl, NFT_CMP_EQ, &byte, sizeof(byte));
		break;
	case TO_PORT:
		load_payload(nl, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof(port));
		compare(nl, NFT_CMP_EQ, &port, sizeof(port));
		break;
	case TO_FORWARD:
		load_payload(nl, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof(port));
		look_up(nl, FORWARD_SET);
		break;
	case NOT_MARKED:
		load_meta(nl, NFT_META_MARK);
		compare(nl, NFT_CMP_NEQ, &mark, sizeof(mark));
		break;
	case NOT_TURNED:
		/* Seen from here it still leaves by where it was to. */
		load_payload(nl, NFT_PAYLOAD_NETWORK_HEADER, 16,
			     sizeof(loopback));
		compare(nl, NFT_CMP_NEQ, &loopback, sizeof(loopback));
		break;
	default: /* HAS_SOCKET: what is loaded does not matter */
		EXPRESSION(nl, "socket",
			   { NFTA_SOCKET_KEY, NFT_SOCKET_TRANSPARENT },
			   { NFTA_SOCKET_DREG, NFT_REG_1 });
		break;
	}
}

static void encode_step(struct netlink *nl, const struct step *step)
{
	switch (step->kind) {
	case REDIRECT:
		load_port(nl, step->value);
		EXPRESSION(nl, "redir",
			   { NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1 });
		break;
	case TAKE:
		load_port(nl, step->value);
		EXPRESSION(nl, "tproxy", { NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC },
			   { NFTA_TPROXY_REG_PORT, NFT_REG_1 });
		break;
	case REJECT:
		reject(nl);
		break;
	case ACCEPT:
		accept_packet(nl);
		break;
	default:
		encode_match(nl, step);
		break;
	}
}

static void encode_chain(struct netlink *nl, const char *table,
			 const struct chain *chain)
{
	size_t hook;

	message(nl, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	netlink_text(nl, NFTA_CHAIN_TABLE, table);
	netlink_text(nl, NFTA_CHAIN_NAME, chain->name);
	hook = netlink_begin(nl, NFTA_CHAIN_HOOK);
	netlink_be32(nl, NFTA_HOOK_HOOKNUM, chain->hook);
	netlink_be32(nl, NFTA_HOOK_PRIORITY, (uint32_t)chain->priority);
	netlink_end(nl, hook);
	netlink_be32(nl, NFTA_CHAIN_POLICY, NF_ACCEPT);
	netlink_text(nl, NFTA_CHAIN_TYPE, chain->type);
}

static void encode_rule(struct netlink *nl, const char *table,
			const struct rule *rule)
{
	size_t expressions;

	message(nl, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	netlink_text(nl, NFTA_RULE_TABLE, table);
	netlink_text(nl, NFTA_RULE_CHAIN, rule->chain);
	expressions = netlink_begin(nl, NFTA_RULE_EXPRESSIONS);
	for (size_t i = 0; i < STEPS_MAX && rule->steps[i].kind != END; i++)
		encode_step(nl, &rule->steps[i]);
	netlink_end(nl, expressions);
}

static void encode_table(struct netlink *nl, const struct table *table)
{
	for (size_t i = 0; i < table->chain_count; i++)
		encode_chain(nl, table->name, &table->chains[i]);
	for (size_t i = 0; i < table->rule_count; i++)
		encode_rule(nl, table->name, &table->rules[i]);
}

static void name_table(struct netlink *nl, int type, uint16_t flags,
		       const char *name)
{
	message(nl, type, flags);
	netlink_text(nl, NFTA_TABLE_NAME, name);
}

/* Made first, so that there is one to take away. */
static void remove_table(struct netlink *nl, const char *name)
{
	name_table(nl, NFT_MSG_NEWTABLE, NLM_F_CREATE, name);
	name_table(nl, NFT_MSG_DELTABLE, 0, name);
}

static void encode_ports(struct netlink *nl, const uint16_t *ports,
			 size_t count)
{
	size_t elements;

	message(nl, NFT_MSG_NEWSET, NLM_F_CREATE);
	netlink_text(nl, NFTA_SET_TABLE, FORWARD_TABLE);
	netlink_text(nl, NFTA_SET_NAME, FORWARD_SET);
	netlink_be32(nl, NFTA_SET_KEY_TYPE, TYPE_INET_SERVICE);
	netlink_be32(nl, NFTA_SET_KEY_LEN, sizeof(uint16_t));
	netlink_be32(nl, NFTA_SET_ID, 1);

	message(nl, NFT_MSG_NEWSETELEM, NLM_F_CREATE);
	netlink_text(nl, NFTA_SET_ELEM_LIST_TABLE, FORWARD_TABLE);
	netlink_text(nl, NFTA_SET_ELEM_LIST_SET, FORWARD_SET);
	elements = netlink_begin(nl, NFTA_SET_ELEM_LIST_ELEMENTS);
	for (size_t i = 0; i < count; i++) {
		uint16_t wire = htons(ports[i]);
		size_t element = netlink_begin(nl, NFTA_LIST_ELEM);

		value(nl, NFTA_SET_ELEM_KEY, &wire, sizeof(wire));
		netlink_end(nl, element);
	}
	netlink_end(nl, elements);
}

void net_rules_encode(struct netlink *nl)
{
	batch(nl, NFNL_MSG_BATCH_BEGIN);
	remove_table(nl, GATE_TABLE);
	name_table(nl, NFT_MSG_NEWTABLE, NLM_F_CREATE, GATE_TABLE);
	encode_table(nl, &gate);
	batch(nl, NFNL_MSG_BATCH_END);
}

void net_rules_encode_forward(struct netlink *nl, const uint16_t *ports,
			      size_t count)
{
	batch(nl, NFNL_MSG_BATCH_BEGIN);
	remove_table(nl, FORWARD_TABLE);
	if (count) {
		name_table(nl, NFT_MSG_NEWTABLE, NLM_F_CREATE, FORWARD_TABLE);
		encode_ports(nl, ports, count);
		encode_table(nl, &forward);
	}
	batch(nl, NFNL_MSG_BATCH_END);
}

static int send_rules(struct netlink *nl, struct error *err)
{
	int result = netlink_send(nl, NETLINK_NETFILTER, err);

	netlink_release(nl);
	return result < 0 ? error_prefix(err, "packet rules") : 0;
}

int net_rules_set(struct error *err)
{
	struct netlink nl;

	netlink_init(&nl);
	net_rules_encode(&nl);
	return send_rules(&nl, err);
}

int net_rules_forward(const uint16_t *ports, size_t count, struct error *err)
{
	struct netlink nl;

	netlink_init(&nl);
	net_rules_encode_forward(&nl, ports, count);
	return send_rules(&nl, err);
}
