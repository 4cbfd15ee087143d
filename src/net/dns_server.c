/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_server.c - the resolver of a guest, which asks nobody
 *
 * Every well-formed name has an address of ours; whether it may be reached is
 * decided when it is connected to. So a question carries nothing out, and an
 * answer tells nothing that was not known here.
 */
#include "net/dns_server.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "net/config.h"
#include "net/gate.h"
#include "net/target.h"
#include "policy/policy.h"
#include "wire/dns_message.h"

#define TTL_S 60

static void log_refusal(struct gate *gate, const char *name, const char *reason)
{
	const struct audit_record record = { .name = name,
					     .protocol = AUDIT_DNS,
					     .verdict = AUDIT_DENY,
					     .reason = reason };

	audit_write(&gate->audit, &record);
}

/* Does it exist for this guest? */
static enum dns_rcode judge(struct gate *gate, const char *name)
{
	if (hostname_is_special(name))
		return DNS_NXDOMAIN;
	if (!policy_name_denied_everywhere(gate->config->policy, name))
		return DNS_NOERROR;
	log_refusal(gate, name, "a rule denies it");
	return DNS_NXDOMAIN;
}

/* Each name has one address, which is given when it is first asked for. */
static enum dns_rcode address_of(struct gate *gate, const char *name,
				 struct address *out)
{
	enum names_range range = policy_name_matched(gate->config->policy, name)
					 ? NAMES_MATCHED
					 : NAMES_OTHER;
	struct error err = { 0 };

	if (target_is_host_name(name)) {
		*out = target_host_address();
		return DNS_NOERROR;
	}
	if (names_address(&gate->names, name, range, out, &err) == 0)
		return DNS_NOERROR;
	log_limited(LOG_LEVEL_WARN, "%s", err.text);
	log_refusal(gate, name,
		    err.code == ENOSPC ? "too many names" : "names file");
	return DNS_SERVFAIL;
}

static void answer(struct gate *gate, const struct dns_query *query,
		   struct dns_answer *out)
{
	struct address address;

	if (query->is_root)
		return;
	out->rcode = query->name[0] ? judge(gate, query->name) : DNS_NXDOMAIN;
	/* Of other types there is nothing, and it costs no address. */
	if (out->rcode != DNS_NOERROR || query->type != DNS_TYPE_A)
		return;
	out->rcode = address_of(gate, query->name, &address);
	if (out->rcode != DNS_NOERROR)
		return;
	out->has_address = true;
	out->ttl_s = TTL_S;
	memcpy(out->address, address.bytes, sizeof(out->address));
}

void dns_server_on_query(struct gate *gate, const struct net_dns *query)
{
	struct net_message reply = { .type = NET_DNS_ANSWER,
				     .dns = { .query = query->query } };
	uint8_t bytes[DNS_ANSWER_MAX];
	struct dns_query parsed;
	struct dns_answer answered = { 0 };
	int rcode = dns_message_parse_query(query->bytes, query->len, &parsed);
	int len;

	if (rcode < 0)
		return;
	answered.rcode = (enum dns_rcode)rcode;
	if (answered.rcode == DNS_NOERROR)
		answer(gate, &parsed, &answered);
	len = dns_message_encode_answer(&parsed, &answered, bytes,
					sizeof(bytes));
	if (len < 0)
		return;
	reply.dns.len = (uint16_t)len;
	reply.dns.bytes = bytes;
	port_send(&gate->port, &reply);
}
