/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_policy_check.c - policy check
 *
 * Decides as bawn-net does, by the same functions, without asking any name
 * server: where a name leads to is not known here.
 */
#include "cli/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/check_target.h"
#include "cli/policy_place.h"
#include "cli/policy_set.h"
#include "cli/print.h"
#include "policy/host_pattern.h"
#include "wire/url_path.h"

enum {
	CHECK_ALLOWED = 0,
	CHECK_DENIED = 1,
};

AUTO_DEFINE(json, json_t *, json_decref)

struct check {
	struct check_target target;
	const char *method;          /* NULL: no request is meant */
	char path[URL_PATH_MAX + 1]; /* in its one form */
	bool has_path;               /* there is such a form */
	struct policy_verdict verdict;
	const char *reason;
};

static int take_request(const struct options *options, struct check *check,
			struct error *err)
{
	const char *path = options_value(options, "path");

	check->method = options_value(options, "method");
	if (path && check->target.path)
		return options_usage(err, "the target has a path, and --path "
					  "too");
	if (!path)
		path = check->target.path;
	if (path && *path != '/')
		return options_usage(err, "--path begins with a slash");
	if (path && !check->method)
		check->method = "GET";
	if (!path)
		path = "/";
	check->has_path =
		url_path_normalise(path, strlen(path), check->path) >= 0;
	return 0;
}

static struct policy_verdict decide_connection(const struct policy *policy,
					       const struct authority *to)
{
	if (to->address.family)
		return policy_decide_address(policy, &to->address, to->port);
	return policy_decide_name(policy, to->host, to->port);
}

static struct policy_verdict decide_request(const struct policy *policy,
					    const struct check *check)
{
	const struct authority *to = &check->target.authority;
	struct policy_request request = {
		.name = to->address.family ? NULL : to->host,
		.address = to->address.family ? &to->address : NULL,
		.port = to->port,
		.method = check->method,
		.path = check->has_path ? check->path : NULL,
	};

	return policy_decide_request(policy, &request);
}

static void decide(const struct policy *policy, struct check *check)
{
	const struct authority *to = &check->target.authority;

	check->verdict = decide_connection(policy, to);
	check->reason = "";
	if (!to->address.family && hostname_is_special(to->host) &&
	    !host_pattern_is_localhost(to->host)) {
		check->verdict = (struct policy_verdict){ POLICY_DENY };
		check->reason = "there is no such name in a sandbox";
		return;
	}
	/* bawn-net looks into TLS with a name, unless a rule forbids it */
	if (check->verdict.answer == POLICY_BY_REQUEST &&
	    check->target.is_encrypted &&
	    (to->address.family || check->verdict.bypass)) {
		check->verdict.answer = POLICY_DENY;
		check->reason = "rules about requests cannot see into this";
		return;
	}
	/* a request decides where the connection alone does not */
	if (check->verdict.answer == POLICY_BY_REQUEST && !check->method)
		check->method = "GET";
	if (check->method && check->verdict.answer != POLICY_DENY)
		check->verdict = decide_request(policy, check);
	if (check->verdict.guarded)
		check->reason = "near the host: only a rule that names the "
				"address opens it";
}

static json_t *rule_json(const struct policy_rule *rule)
{
	char text[POLICY_RULE_TEXT_SIZE];

	if (!rule)
		return json_null();
	policy_rule_text(rule, text, sizeof(text));
	return json_string(text);
}

static json_t *check_json(const struct check *check)
{
	const struct policy_verdict *verdict = &check->verdict;
	const struct policy_rule *rule = verdict->rule;
	char target[AUTHORITY_TEXT_SIZE];

	authority_format(&check->target.authority, target);
	return json_pack(
		"{s:s, s:b, s:o, s:o, s:o, s:o, s:b, s:s?, s:s?, s:b, "
		"s:s?}",
		"target", target, "allowed", verdict->answer == POLICY_ALLOW,
		"rule", rule_json(rule), "scope",
		rule ? json_string(policy_scope_name(policy_rule_scope(rule)))
		     : json_null(),
		"source",
		rule ? json_string(policy_rule_source(rule)) : json_null(),
		"line",
		rule ? json_integer(policy_rule_line(rule)) : json_null(),
		"by_default", verdict->by_default, "method", check->method,
		"path", check->method ? check->path : NULL, "bypass",
		verdict->bypass, "reason",
		*check->reason ? check->reason : NULL);
}

static void print_text(const struct check *check)
{
	const struct policy_verdict *verdict = &check->verdict;
	char target[AUTHORITY_TEXT_SIZE], rule[POLICY_RULE_TEXT_SIZE];
	char shown[2 * URL_PATH_MAX];

	authority_format(&check->target.authority, target);
	printf("%s: %s", verdict->answer == POLICY_ALLOW ? "allowed" : "denied",
	       target);
	if (check->method) {
		text_printable(check->path, strlen(check->path), shown,
			       sizeof(shown));
		printf(" (%s %s)", check->method, shown);
	}
	if (verdict->rule) {
		policy_rule_text(verdict->rule, rule, sizeof(rule));
		printf(", by `%s` (%s, %s:%u)", rule,
		       policy_scope_name(policy_rule_scope(verdict->rule)),
		       policy_rule_source(verdict->rule),
		       policy_rule_line(verdict->rule));
	} else if (verdict->by_default) {
		printf(", by default");
	}
	printf("%s%s\n", *check->reason ? ": " : "", check->reason);
}

/* Without a sandbox: what a new one would have. */
static int load(const struct options *options, struct policy_set *set,
		size_t *used, struct error *err)
{
	AUTO_POLICY_PLACE struct policy_place place = POLICY_PLACE_INIT;
	struct error missing = { 0 };

	if (policy_place_find(options, 1, &place, used, &missing) < 0) {
		if (missing.code != ENOENT || options->word_count != 1 ||
		    options_value(options, "sandbox")) {
			*err = missing;
			return -1;
		}
		place.global = true;
	}
	return policy_set_load(place.global ? NULL : &place.sandbox, set, err);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	AUTO(policy) struct policy *policy = NULL;
	AUTO(json) json_t *answer = NULL;
	struct check check = { 0 };
	size_t used = 0;

	if (load(options, &set, &used, err) < 0 ||
	    check_target_parse(options->words[used], &check.target, err) < 0 ||
	    take_request(options, &check, err) < 0)
		return -1;
	policy = policy_set_compile(&set, err);
	if (!policy)
		return -1;
	decide(policy, &check);
	if (options_flag(options, "json")) {
		answer = check_json(&check);
		print_json(answer);
	} else {
		print_text(&check);
	}
	return check.verdict.answer == POLICY_ALLOW ? CHECK_ALLOWED
						    : CHECK_DENIED;
}

static const struct option_row rows[] = {
	{ "method", '\0', OPTION_VALUE, "METHOD",
	  "decide a request with this method (GET where a path is given)",
	  "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS", OPTION_HERE },
	{ "path", '\0', OPTION_VALUE, "PATH", "decide a request for this path",
	  NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_policy_check = {
	.name = "policy check",
	.arguments = "[NAME] TARGET",
	.help = "tell whether a sandbox may connect there, and by which rule",
	.details = "TARGET is HOST[:PORT][/PATH] or a http or https URL. Ends "
		   "with 0 when it is allowed, with 1\nwhen it is denied, with "
		   "125 when bawn fails.",
	.options = rows,
	.options_too = policy_place_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 3,
	.failure_code = 125,
	.run = run,
};
