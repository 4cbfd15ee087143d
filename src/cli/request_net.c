/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_net.c - what a request says about the network
 */
#include "cli/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/policy_set.h"
#include "cli/port_spec.h"
#include "cli/proxy_file.h"
#include "cli/mcp_host.h"
#include "cli/socket_spec.h"
#include "cli/spelling.h"
#include "cli/store.h"
#include "policy/policy_file.h"

static int take_rules(const struct options *options, const char *name,
		      enum rule_action action, struct request *request,
		      struct error *err)
{
	const char *value;
	size_t at = 0;

	while ((value = options_next(options, name, &at)))
		if (rule_words_add(&request->rules, value, action, NULL, err) <
		    0) {
			error_prefix(err, "--%s", name);
			err->code = OPTIONS_USAGE;
			return -1;
		}
	return 0;
}

static int take_ports(const struct options *options, struct request *request,
		      struct error *err)
{
	struct port_list *ports = &request->ports;
	struct port_record port;
	const char *value;
	size_t at = 0;

	while ((value = options_next(options, "publish", &at))) {
		if (port_spec_parse(value, &port, err) < 0)
			return options_usage(err, "%s", err->text);
		if (ports->count == PORT_LIST_MAX)
			return options_usage(err, "more than %d ports",
					     PORT_LIST_MAX);
		if (port.host && port_list_find(ports, port.address, port.host))
			return options_usage(err, "--publish %s: given twice",
					     value);
		/* one without the host's port is completed when it is made */
		ports->items[ports->count++] = port;
	}
	return 0;
}

static int take_sockets(const struct options *options,
			const struct store *store, struct request *request,
			struct error *err)
{
	const char *value;
	size_t at = 0;

	while ((value = options_next(options, "socket", &at))) {
		struct socket_record socket;
		int result = socket_spec_parse(value, &socket, err);

		if (result == 0)
			result = socket_spec_check(&socket, &request->shares,
						   store, err);
		if (result == 0)
			result = socket_list_add(&request->sockets, &socket,
						 err);
		free(socket.host);
		free(socket.guest);
		if (result < 0)
			return error_prefix(err, "--socket");
	}
	return 0;
}

int request_take_net(const struct options *options, const struct store *store,
		     struct request *request, struct error *err)
{
	request->preset = options_value(options, "policy");
	request->ask = options_flag(options, "ask");
	if (request->preset &&
	    policy_set_check_preset(request->preset, err) < 0)
		return options_usage(err, "%s", err->text);
	if (take_rules(options, "allow", RULE_ALLOW, request, err) < 0 ||
	    take_rules(options, "deny", RULE_DENY, request, err) < 0 ||
	    take_rules(options, "inspect", RULE_INSPECT, request, err) < 0 ||
	    take_ports(options, request, err) < 0)
		return -1;
	if (take_sockets(options, store, request, err) < 0)
		return -1;
	return mcp_host_sockets(options, &request->sockets, err);
}

int request_policy(const struct request *request, const struct store *store,
		   struct buffer *text, struct error *err)
{
	char line[POLICY_RULE_TEXT_SIZE];
	int failed = 0;

	if (request->preset)
		failed = buffer_printf(text, "preset %s\n", request->preset);
	else if (spelling_now() == SPELLING_DOCKER &&
		 proxy_file_default(store, text, err) < 0)
		return -1;
	for (size_t i = 0; i < request->rules.count && failed >= 0; i++) {
		policy_rule_text(&request->rules.rules[i], line, sizeof(line));
		failed = buffer_printf(text, "%s\n", line);
	}
	return failed < 0 ? error_set(err, 0, "too many rules") : 0;
}

static bool has_rule(const struct policy_set_item *item,
		     const struct policy_rule *wanted)
{
	struct policy_file file = policy_file_of(item->text, item->len);
	struct policy_line line;
	bool found = false;

	while (!found && policy_file_next(&file, &line, NULL) > 0) {
		struct policy_rule rule;

		if (line.kind != POLICY_LINE_RULE ||
		    rule_parse(line.content, line.len, RULE_ALLOW, &rule,
			       NULL) < 0)
			continue;
		found = rule.action == wanted->action &&
			rule_same_target(&rule, wanted);
		rule_release(&rule);
	}
	return found;
}

static int compare_rules(const struct request *request,
			 const struct sandbox *sandbox,
			 const struct policy_set *set, struct error *err)
{
	const char *name = sandbox->record.name;
	char text[POLICY_RULE_TEXT_SIZE], target[POLICY_RULE_TEXT_SIZE];

	for (size_t i = 0; i < request->rules.count; i++) {
		const struct policy_rule *rule = &request->rules.rules[i];
		bool found = false;

		for (size_t j = 0; j < set->count; j++)
			found = found ||
				(set->items[j].scope == POLICY_SANDBOX &&
				 has_rule(&set->items[j], rule));
		if (found)
			continue;
		policy_rule_text(rule, text, sizeof(text));
		rule_format_target(rule, target, sizeof(target));
		return error_set(err, 0,
				 "sandbox %s has no rule `%s` (`bawn policy %s "
				 "%s '%s'` adds it)",
				 name, text, rule_action_name(rule->action),
				 name, target);
	}
	return 0;
}

static int compare_policy(const struct request *request,
			  const struct sandbox *sandbox, struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };

	if (!request->preset && !request->rules.count)
		return 0;
	if (policy_set_load(sandbox, &set, err) < 0)
		return -1;
	if (request->preset && strcmp(request->preset, set.preset))
		return request_differs(sandbox, "policy", set.preset,
				       request->preset, err);
	return compare_rules(request, sandbox, &set, err);
}

/* One that leaves the host's port open is any that leads to the same. */
static bool has_port(const struct port_list *list,
		     const struct port_record *wanted)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct port_record *port = &list->items[i];

		if (port->guest == wanted->guest &&
		    !strcmp(port->address, wanted->address) &&
		    (!wanted->host || port->host == wanted->host))
			return true;
	}
	return false;
}

static int compare_ports(const struct request *request,
			 const struct sandbox *sandbox, struct error *err)
{
	const struct port_list *has = &sandbox->record.ports;
	char have[256], want[PORT_SPEC_TEXT_SIZE];

	for (size_t i = 0; i < request->ports.count; i++) {
		if (has_port(has, &request->ports.items[i]))
			continue;
		port_spec_list(has, have, sizeof(have));
		port_spec_format(&request->ports.items[i], want);
		return error_set(err, 0,
				 "sandbox %s has published ports %s, not %s "
				 "(`bawn ports %s --publish` adds one)",
				 sandbox->record.name,
				 has->count ? have : "none", want,
				 sandbox->record.name);
	}
	return 0;
}

static int compare_sockets(const struct request *request,
			   const struct sandbox *sandbox, struct error *err)
{
	const struct socket_list *has = &sandbox->record.sockets;

	for (size_t i = 0; i < request->sockets.count; i++) {
		const struct socket_record *wanted = &request->sockets.items[i];
		bool found = false;

		for (size_t j = 0; j < has->count; j++)
			found = found ||
				(!strcmp(has->items[j].host, wanted->host) &&
				 !strcmp(has->items[j].guest, wanted->guest));
		if (!found)
			return request_differs(sandbox, "as sockets",
					       has->count ? has->items[0].host
							  : "none",
					       wanted->host, err);
	}
	return 0;
}

int request_compare_net(const struct request *request,
			const struct sandbox *sandbox, struct error *err)
{
	if (compare_policy(request, sandbox, err) < 0 ||
	    compare_ports(request, sandbox, err) < 0 ||
	    compare_sockets(request, sandbox, err) < 0)
		return -1;
	if (request->ask && !sandbox->record.ask)
		return request_differs(sandbox, "questions (--ask)", "off",
				       "on", err);
	return 0;
}
