/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.c - one rule: what it means, from text and to text
 */
#include "policy/rule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/method.h"
#include "policy/path_glob.h"

#define WORDS_MAX 4

struct slice {
	const char *text;
	size_t len;
};

/* The parts of HOST[:PORT][/PATH]; what is not there has no text. */
struct target {
	struct slice host, port, path;
};

static const char *const action_names[] = {
	[RULE_ALLOW] = "allow",
	[RULE_DENY] = "deny",
	[RULE_BYPASS] = "bypass",
	[RULE_INSPECT] = "inspect",
};

static_assert(ARRAY_SIZE(action_names) == RULE_ACTIONS, "a name for each");

const char *rule_action_name(enum rule_action action)
{
	return action_names[action];
}

int rule_action_parse(const char *text, size_t len, enum rule_action *action)
{
	for (int i = 0; i < RULE_ACTIONS; i++) {
		if (strlen(action_names[i]) == len &&
		    memcmp(action_names[i], text, len) == 0) {
			*action = (enum rule_action)i;
			return 0;
		}
	}
	return -1;
}

bool rule_is_conditional(const struct policy_rule *rule)
{
	return rule->path || rule->methods != METHODS_ALL;
}

static size_t split_words(const char *text, size_t len,
			  struct slice words[WORDS_MAX])
{
	const char *end = text + len;
	size_t count = 0;

	while (count < WORDS_MAX) {
		while (text < end && (*text == ' ' || *text == '\t'))
			text++;
		if (text == end)
			break;
		words[count].text = text;
		while (text < end && *text != ' ' && *text != '\t')
			text++;
		words[count].len = (size_t)(text - words[count].text);
		count++;
	}
	return count;
}

/*
 * How many bytes of "/24" make a range of the address before it; 0: none. What
 * goes on behind it (10.0.0.0/8/api) is taken as part of the host, and so
 * refused: it could be read both ways.
 */
static size_t bits_len(const char *text, size_t len)
{
	size_t i = 1;

	if (len == 0 || text[0] != '/')
		return 0;
	while (i < len && text[i] >= '0' && text[i] <= '9')
		i++;
	if (i == 1 || i > 4)
		return 0;
	if (i < len && text[i] == '/')
		return len;
	return i == len || text[i] == ':' ? i : 0;
}

/*
 * Where the host ends. IPv6 is told by its second colon before any slash, and
 * can then be followed by nothing: with a port it stands in brackets.
 */
static size_t host_len(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);
	size_t head = slash ? (size_t)(slash - text) : len;
	const char *colon = memchr(text, ':', head);
	struct address address;

	if (colon && memchr(colon + 1, ':', head - (size_t)(colon + 1 - text)))
		return len;
	if (colon)
		return (size_t)(colon - text);
	if (address_parse(text, head, &address) == 0)
		return head + bits_len(text + head, len - head);
	return head;
}

static int split_target(const struct slice *word, struct target *out,
			struct error *err)
{
	const char *text = word->text, *end = text + word->len, *slash;

	*out = (struct target){ 0 };
	if (text[0] == '[') {
		const char *close = memchr(text, ']', word->len);

		if (!close)
			return error_set(err, 0, "`[` without `]`");
		out->host =
			(struct slice){ text + 1, (size_t)(close - text - 1) };
		if (!memchr(out->host.text, ':', out->host.len))
			return error_set(err, 0, "brackets are for IPv6");
		text = close + 1;
	} else {
		out->host = (struct slice){ text, host_len(text, word->len) };
		text += out->host.len;
	}
	slash = text < end ? memchr(text, '/', (size_t)(end - text)) : NULL;
	if (slash) {
		out->path = (struct slice){ slash, (size_t)(end - slash) };
		end = slash;
	}
	if (text == end)
		return 0;
	if (*text != ':')
		return error_set(err, 0, "behind `]` comes a port or a path");
	out->port = (struct slice){ text + 1, (size_t)(end - text - 1) };
	return 0;
}

static int parse_port(const char *text, size_t len, uint16_t *port)
{
	char copy[6];
	uint64_t value;

	if (len >= sizeof(copy))
		return -1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (text_to_u64(copy, 1, UINT16_MAX, &value) < 0)
		return -1;
	*port = (uint16_t)value;
	return 0;
}

static int parse_ports(const struct slice *ports, struct policy_rule *rule,
		       struct error *err)
{
	const char *dash, *end = ports->text + ports->len;
	char shown[32];

	dash = ports->len ? memchr(ports->text, '-', ports->len) : NULL;
	rule->has_port = true;
	if (parse_port(ports->text, (size_t)((dash ? dash : end) - ports->text),
		       &rule->low) == 0) {
		rule->high = rule->low;
		if (!dash || (parse_port(dash + 1, (size_t)(end - dash - 1),
					 &rule->high) == 0 &&
			      rule->low <= rule->high))
			return 0;
	}
	text_printable(ports->text, ports->len, shown, sizeof(shown));
	return error_set(err, 0,
			 "%s: a port is a number from 1 to 65535, or two with "
			 "`-` between them",
			 shown);
}

static int parse_target(const struct slice *word, struct policy_rule *rule,
			struct error *err)
{
	struct target target;

	if (memmem(word->text, word->len, "://", 3))
		return error_set(err, 0,
				 "a rule names a host, not a URL: leave out "
				 "what stands before `://`");
	if (split_target(word, &target, err) < 0 ||
	    host_pattern_parse(target.host.text, target.host.len, &rule->host,
			       err) < 0)
		return -1;
	if (target.port.text && parse_ports(&target.port, rule, err) < 0)
		return -1;
	if (target.path.text &&
	    path_glob_parse(target.path.text, target.path.len, &rule->path,
			    err) < 0)
		return -1;
	return 0;
}

static int check(const struct policy_rule *rule, struct error *err)
{
	if (rule->host.kind == HOST_LOCALHOST && !rule->has_port)
		return error_set(err, 0,
				 "localhost needs a port: localhost:5432");
	if (rule->action >= RULE_BYPASS && rule_is_conditional(rule))
		return error_set(err, 0, "%s takes no method and no path",
				 rule_action_name(rule->action));
	return 0;
}

static int parse_words(struct slice *words, size_t count,
		       struct policy_rule *rule, struct error *err)
{
	char shown[64];

	if (count > 1 && rule_action_parse(words[0].text, words[0].len,
					   &rule->action) == 0) {
		words++;
		count--;
	}
	if (count == 0)
		return error_set(err, 0, "a rule needs a host");
	if (count > 2)
		return error_set(err, 0, "too many words in a rule");
	if (count == 2 && method_list_parse(words[0].text, words[0].len,
					    &rule->methods) < 0) {
		text_printable(words[0].text, words[0].len, shown,
			       sizeof(shown));
		return error_set(err, 0,
				 "%s: neither allow, deny, bypass or inspect, "
				 "nor HTTP methods with commas between them",
				 shown);
	}
	/* Servers may take what is not known here for one of these. */
	if (count == 2 && rule->action == RULE_DENY)
		rule->methods |= METHOD_OTHER;
	if (parse_target(&words[count - 1], rule, err) < 0)
		return -1;
	return check(rule, err);
}

int rule_parse(const char *text, size_t len, enum rule_action action,
	       struct policy_rule *rule, struct error *err)
{
	struct slice words[WORDS_MAX];
	size_t count = split_words(text, len, words);

	*rule = (struct policy_rule){ .action = action,
				      .methods = METHODS_ALL };
	if (parse_words(words, count, rule, err) < 0) {
		rule_release(rule);
		return -1;
	}
	return 0;
}

void rule_release(struct policy_rule *rule)
{
	host_pattern_release(&rule->host);
	free(rule->path);
	*rule = (struct policy_rule){ 0 };
}

bool rule_same_target(const struct policy_rule *a, const struct policy_rule *b)
{
	char left[POLICY_RULE_TEXT_SIZE], right[POLICY_RULE_TEXT_SIZE];

	rule_format_target(a, left, sizeof(left));
	rule_format_target(b, right, sizeof(right));
	return strcmp(left, right) == 0;
}

static void format_host(const struct policy_rule *rule,
			char out[HOST_PATTERN_TEXT_SIZE + 2])
{
	char host[HOST_PATTERN_TEXT_SIZE];
	bool brackets = rule->host.kind == HOST_ADDRESS &&
			rule->host.range.base.family == ADDRESS_V6 &&
			(rule->has_port || rule->path);

	host_pattern_format(&rule->host, host);
	(void)text_format(out, HOST_PATTERN_TEXT_SIZE + 2, "%s%s%s",
			  brackets ? "[" : "", host, brackets ? "]" : "");
}

void rule_format_target(const struct policy_rule *rule, char *out, size_t size)
{
	char methods[METHODS_TEXT_SIZE] = "", ports[16] = "";
	char host[HOST_PATTERN_TEXT_SIZE + 2], path[PATH_GLOB_TEXT_SIZE] = "";

	if (rule->path)
		path_glob_format(rule->path, path);
	if (rule->methods != METHODS_ALL)
		method_list_format(rule->methods, methods);
	if (rule->has_port && rule->low == rule->high)
		(void)text_format(ports, sizeof(ports), ":%u", rule->low);
	else if (rule->has_port)
		(void)text_format(ports, sizeof(ports), ":%u-%u", rule->low,
				  rule->high);
	format_host(rule, host);
	(void)text_format(out, size, "%s%s%s%s%s", methods, *methods ? " " : "",
			  host, ports, path);
}

void policy_rule_text(const struct policy_rule *rule, char *out, size_t size)
{
	char target[POLICY_RULE_TEXT_SIZE];

	rule_format_target(rule, target, sizeof(target));
	(void)text_format(out, size, "%s %s", rule_action_name(rule->action),
			  target);
}

enum policy_scope policy_rule_scope(const struct policy_rule *rule)
{
	return rule->scope;
}

const char *policy_rule_source(const struct policy_rule *rule)
{
	return rule->source;
}

unsigned policy_rule_line(const struct policy_rule *rule)
{
	return rule->line;
}
