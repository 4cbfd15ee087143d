/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_config.c - policy in the shape of proxy-config.json
 */
#include "cli/proxy_config.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/method.h"
#include "policy/policy_file.h"
#include "policy/rule.h"

AUTO_DEFINE(json, json_t *, json_decref)

/*
 * The tool that the shape is from writes all of these into each file. Here they
 * are closed anyway; as rules they would also beat `localhost:PORT`.
 */
static const char *const closed_anyway[] = {
	"10.0.0.0/8",     "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8",
	"169.254.0.0/16", "::1/128",       "fc00::/7",       "fe80::/10",
};

static int wrong(struct error *err, const char *key, const char *what)
{
	char shown[80];

	text_printable(key, strlen(key), shown, sizeof(shown));
	return error_set(err, 0, "\"%s\" %s", shown, what);
}

static int check_keys(const json_t *object, const char *const *known,
		      struct error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		const char *const *one = known;

		while (*one && strcmp(*one, key))
			one++;
		if (!*one)
			return wrong(err, key,
				     "is not known to bawn, and might forbid "
				     "something");
	}
	return 0;
}

static bool has_text(const json_t *list, const char *text)
{
	json_t *value;
	size_t i;

	json_array_foreach((json_t *)list, i, value)
	{
		if (!strcmp(json_string_value(value), text))
			return true;
	}
	return false;
}

static bool is_closed_anyway(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(closed_anyway); i++)
		if (!strcmp(closed_anyway[i], text))
			return true;
	return false;
}

static bool has_all_closed(const json_t *list)
{
	for (size_t i = 0; i < ARRAY_SIZE(closed_anyway); i++)
		if (!has_text(list, closed_anyway[i]))
			return false;
	return true;
}

/* One entry as a line; it must be a target and nothing else. */
static int add_line(const json_t *value, enum rule_action action,
		    struct buffer *policy, struct error *err)
{
	const char *text = json_string_value(value);
	char target[POLICY_RULE_TEXT_SIZE], shown[80];
	struct policy_rule rule;

	text_printable(text, strlen(text), shown, sizeof(shown));
	if (text[strcspn(text, " \t\r\n#")])
		return error_set(err, 0, "\"%s\" is not a host", shown);
	if (rule_parse(text, strlen(text), action, &rule, err) < 0)
		return error_prefix(err, "\"%s\"", shown);
	rule_format_target(&rule, target, sizeof(target));
	if (rule_is_conditional(&rule) || rule.action != action) {
		rule_release(&rule);
		return error_set(err, 0, "\"%s\" is not a host", shown);
	}
	rule_release(&rule);
	return buffer_printf(policy, "%s %s\n", rule_action_name(action),
			     target) < 0
		       ? error_set(err, 0, "too many rules")
		       : 0;
}

static int check_list(const json_t *list, const char *key, struct error *err)
{
	json_t *value;
	size_t i;

	if (!json_is_array(list))
		return wrong(err, key, "is not a list");
	if (json_array_size(list) > PROXY_CONFIG_LIST_MAX)
		return wrong(err, key, "has more than 10,000 entries");
	json_array_foreach((json_t *)list, i, value)
	{
		if (!json_is_string(value) ||
		    strlen(json_string_value(value)) !=
			    json_string_length(value))
			return wrong(err, key, "holds what is no text");
	}
	return 0;
}

static int read_list(const json_t *network, const char *key,
		     enum rule_action action, struct buffer *policy,
		     struct error *err)
{
	const json_t *list = json_object_get(network, key);
	bool is_ranges = !strcmp(key, "blockCIDR");
	json_t *value;
	size_t i;
	bool skip;

	if (!list || json_is_null(list))
		return 0;
	if (check_list(list, key, err) < 0)
		return -1;
	skip = is_ranges && has_all_closed(list);
	json_array_foreach((json_t *)list, i, value)
	{
		if (skip && is_closed_anyway(json_string_value(value)))
			continue;
		if (add_line(value, action, policy, err) < 0)
			return error_prefix(err, "\"%s\"", key);
	}
	return 0;
}

static int read_object(const json_t *config, struct buffer *policy,
		       struct error *err)
{
	static const char *const outer[] = { "policy", "network", NULL };
	static const char *const inner[] = { "allowedDomains", "blockedDomains",
					     "blockCIDR", NULL };
	const char *verdict =
		json_string_value(json_object_get(config, "policy"));
	const json_t *network = json_object_get(config, "network");

	if (!json_is_object(config))
		return error_set(err, 0, "not a JSON object");
	if (check_keys(config, outer, err) < 0)
		return -1;
	if (!verdict || (strcmp(verdict, "allow") && strcmp(verdict, "deny")))
		return wrong(err, "policy", "is neither allow nor deny");
	buffer_printf(policy, "preset deny-all\ndefault %s\n", verdict);
	if (!network || json_is_null(network))
		return 0;
	if (!json_is_object(network))
		return wrong(err, "network", "is not an object");
	if (check_keys(network, inner, err) < 0 ||
	    read_list(network, inner[0], RULE_ALLOW, policy, err) < 0 ||
	    read_list(network, inner[1], RULE_DENY, policy, err) < 0)
		return -1;
	return read_list(network, inner[2], RULE_DENY, policy, err);
}

int proxy_config_read(const char *text, size_t len, struct buffer *policy,
		      struct error *err)
{
	AUTO(json) json_t *config = NULL;
	json_error_t bad;

	if (len > PROXY_CONFIG_MAX)
		return error_set(err, 0, "too long");
	config = json_loadb(text, len, JSON_REJECT_DUPLICATES, &bad);
	if (!config) {
		char shown[120];

		text_printable(bad.text, strlen(bad.text), shown,
			       sizeof(shown));
		return error_set(err, 0, "line %d: %s", bad.line, shown);
	}
	return read_object(config, policy, err);
}

json_t *proxy_config_new(bool allow)
{
	return json_pack("{s:s, s:{s:[], s:[], s:[]}}", "policy",
			 allow ? "allow" : "deny", "network", "allowedDomains",
			 "blockedDomains", "blockCIDR");
}

static void append_once(json_t *list, const char *text)
{
	if (!has_text(list, text))
		json_array_append_new(list, json_string(text));
}

static void add_rule(json_t *network, struct policy_rule *rule)
{
	char target[POLICY_RULE_TEXT_SIZE];
	bool allows = rule->action == RULE_ALLOW || rule->action == RULE_BYPASS;
	const char *list = "allowedDomains";

	if (rule->action == RULE_INSPECT ||
	    (allows && rule_is_conditional(rule)))
		return;
	/* denied in part becomes denied */
	free(TAKE_PTR(rule->path));
	rule->methods = METHODS_ALL;
	if (!allows)
		list = rule->host.kind == HOST_ADDRESS && !rule->has_port
			       ? "blockCIDR"
			       : "blockedDomains";
	rule_format_target(rule, target, sizeof(target));
	append_once(json_object_get(network, list), target);
}

void proxy_config_add(json_t *config, const char *text, size_t len)
{
	struct policy_file file = policy_file_of(text, len);
	struct policy_line line;
	struct policy_rule rule;

	while (policy_file_next(&file, &line, NULL) > 0) {
		if (line.kind != POLICY_LINE_RULE ||
		    rule_parse(line.content, line.len, RULE_ALLOW, &rule,
			       NULL) < 0)
			continue;
		add_rule(json_object_get(config, "network"), &rule);
		rule_release(&rule);
	}
}
