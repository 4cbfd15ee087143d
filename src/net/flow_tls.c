/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_tls.c - whose name a TLS client may say
 *
 * The name in the ClientHello must be the one that was looked up. A server may
 * ask for a second ClientHello, and then that one's name is what counts for
 * some, so the client's records are followed until none can come any more.
 */
#include "net/flow_internal.h"

#include <errno.h>
#include <string.h>

#include "net/config.h"
#include "net/end.h"
#include "net/gate.h"
#include "wire/client_hello.h"

static bool is_web_port(uint16_t port)
{
	return port == 80 || port == 443;
}

/* Only where the rule means this very port, and the web is not there. */
static const char *check_absent(const struct flow *flow)
{
	const struct target *target = &flow->target;

	if (!target->name || target->is_host)
		return NULL;
	return !is_web_port(target->port) && flow->decision.names_port
		       ? NULL
		       : "no server name (SNI)";
}

/* A literal address gains nothing by a name, and a name nothing by an
 * address: both must be allowed. */
static const char *check_literal(struct flow *flow, const char *name)
{
	struct target named = { .name = (char *)(uintptr_t)name,
				.port = flow->target.port };
	struct decision other = { 0 };
	bool allowed;

	decision_of_target(flow->gate->config->policy, &named, &other);
	allowed = other.answer == POLICY_ALLOW && !other.by_default;
	decision_release(&other);
	return allowed ? NULL : "the server name (SNI) has no rule";
}

const char *flow_check_hello(struct flow *flow,
			     const struct client_hello *hello)
{
	const struct target *target = &flow->target;

	if (hello->has_ech)
		return "the server's name is encrypted (ECH)";
	if (hello->sni == CLIENT_HELLO_SNI_BAD)
		return "malformed server name (SNI)";
	if (hello->sni == CLIENT_HELLO_SNI_NONE)
		return check_absent(flow);
	if (target->is_host)
		return target_is_host_name(hello->name)
			       ? NULL
			       : "the server name (SNI) is not the host's";
	if (!target->name)
		return check_literal(flow, hello->name);
	return strcmp(hello->name, target->name) == 0
		       ? NULL
		       : "the server name (SNI) is another";
}

void flow_watch_tls(struct flow *flow, const struct client_hello *hello)
{
	flow->protocol = AUDIT_TLS;
	flow->checked = true;
	flow->watched = true;
	flow->pass_left = hello->len;
	tls_watch_init(&flow->watch);
}

static size_t pass_judged(struct flow *flow, const uint8_t *bytes, size_t len)
{
	size_t part = len < flow->pass_left ? len : flow->pass_left;
	size_t moved = end_write(flow->server, bytes, part);

	end_take(flow->client, moved);
	flow->pass_left -= moved;
	return moved;
}

/* False: it is not whole yet, or the flow is closed. */
static bool judge_second(struct flow *flow, const uint8_t *bytes, size_t len)
{
	const char *problem = NULL;
	struct client_hello hello;

	switch (client_hello_parse(bytes, len, &hello)) {
	case CLIENT_HELLO_MORE:
		if (list_empty(&flow->deadline.link))
			deadline_start(&flow->gate->peek, &flow->deadline);
		return false;
	case CLIENT_HELLO_DONE:
		problem = flow_check_hello(flow, &hello);
		break;
	default:
		problem = hello.problem;
	}
	deadline_stop(&flow->deadline);
	if (problem) {
		flow_deny(flow, problem);
		return false;
	}
	tls_watch_allow(&flow->watch, hello.len);
	return true;
}

/* False: nothing more can be judged now. */
static bool judge(struct flow *flow, const uint8_t *bytes, size_t len)
{
	size_t pass = 0;

	switch (tls_watch_read(&flow->watch, bytes, len, &pass)) {
	case TLS_WATCH_HELLO:
		if (!pass)
			return judge_second(flow, bytes, len);
		break;
	case TLS_WATCH_BAD:
		if (!pass) {
			flow_deny(flow, "the client broke the TLS protocol");
			return false;
		}
		break;
	default:
		break;
	}
	flow->pass_left = pass;
	return pass > 0;
}

size_t flow_move_watched(struct flow *flow)
{
	struct gate *gate = flow->gate;
	size_t total = 0, len;
	const uint8_t *bytes;

	while (flow->state == FLOW_TUNNEL && flow->watched) {
		end_fill(flow->client);
		bytes = end_gather(flow->client, gate->scratch,
				   sizeof(gate->scratch), &len);
		if (flow->pass_left && len) {
			size_t moved = pass_judged(flow, bytes, len);

			if (!moved)
				return total;
			total += moved;
			continue;
		}
		if (flow->watch.over) {
			flow->watched = false;
			break;
		}
		if (len && judge(flow, bytes, len))
			continue;
		if (flow->state != FLOW_TUNNEL || !flow->client->eof)
			return total;
		/* What will never be whole is not passed on. */
		end_take(flow->client, len);
		flow->watched = false;
	}
	if (flow->state == FLOW_TUNNEL)
		total += end_move(flow->client, flow->server, SIZE_MAX);
	return total;
}
