/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_rules.c - files of rules as people keep them: add, remove, list
 */
#include "policy/policy_rules.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "policy/method.h"
#include "policy/rule.h"

int policy_rules_line(const char *action, const char *text, size_t len,
		      char *out, size_t size, struct error *err)
{
	enum rule_action fallback;
	struct policy_rule rule;

	if (rule_action_parse(action, strlen(action), &fallback) < 0)
		return error_set(err, 0, "%s: not what a rule does", action);
	if (memchr(text, '\n', len) || memchr(text, '#', len))
		return error_set(err, 0, "a rule is one line, without `#`");
	if (rule_parse(text, len, fallback, &rule, err) < 0)
		return -1;
	policy_rule_text(&rule, out, size);
	rule_release(&rule);
	return 0;
}

/* A piece between commas that is part of a list of methods. */
static bool is_method(const char *piece, size_t len)
{
	uint32_t methods;

	while (len > 0 && *piece == ' ') {
		piece++;
		len--;
	}
	return len > 0 && method_list_parse(piece, len, &methods) == 0;
}

size_t policy_rules_next(const char **list, const char **rule)
{
	const char *piece = *list + strspn(*list, ", \t"), *at = piece;
	size_t len;

	*rule = piece;
	for (;;) {
		len = strcspn(at, ",");
		if (at[len] != ',' || !is_method(at, len))
			break;
		at += len + 1;
	}
	at += len;
	*list = at;
	while (at > piece && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	return (size_t)(at - piece);
}

static int append(struct buffer *out, const char *bytes, size_t len,
		  struct error *err)
{
	if (len > 0 && buffer_append(out, bytes, len) < 0)
		return error_set(err, 0, "the file is too long");
	return 0;
}

/* Another content for a line; what stands around it is kept. */
static int append_changed(struct buffer *out, const struct policy_line *line,
			  const char *content, struct error *err)
{
	const char *behind = line->content + line->len;

	if (append(out, line->start, (size_t)(line->content - line->start),
		   err) < 0 ||
	    append(out, content, strlen(content), err) < 0)
		return -1;
	return append(out, behind, (size_t)(line->start + line->size - behind),
		      err);
}

static int append_line(struct buffer *out, const char *content,
		       struct error *err)
{
	if (out->len > 0 && out->data[out->len - 1] != '\n' &&
	    append(out, "\n", 1, err) < 0)
		return -1;
	if (append(out, content, strlen(content), err) < 0)
		return -1;
	return append(out, "\n", 1, err);
}

/* Takes the new text over; 1 when it is another one. */
static int replace(struct buffer *text, struct buffer *changed)
{
	struct buffer old = *text;
	int differs = text->len != changed->len ||
		      (text->len > 0 &&
		       memcmp(text->data, changed->data, text->len) != 0);

	*text = *changed;
	*changed = old;
	return differs;
}

static int line_error(const struct policy_line *line, struct error *err)
{
	return error_prefix(err, "line %u", line->number);
}

/* What a line does to the target of this rule; RULE_ACTIONS: nothing. */
static enum rule_action action_on(const struct policy_line *line,
				  const struct policy_rule *rule)
{
	enum rule_action action = RULE_ACTIONS;
	struct policy_rule other;

	if (line->kind != POLICY_LINE_RULE ||
	    rule_parse(line->content, line->len, RULE_ALLOW, &other, NULL) < 0)
		return RULE_ACTIONS;
	if (rule_same_target(rule, &other))
		action = other.action;
	rule_release(&other);
	return action;
}

/* To inspect is no verdict: it goes with any. */
static bool is_rival(enum rule_action a, enum rule_action b)
{
	if (a == RULE_ACTIONS)
		return false;
	return a == b || (a != RULE_INSPECT && b != RULE_INSPECT);
}

static int copy_with(struct buffer *out, const struct buffer *text,
		     const struct policy_rule *rule, const char *new_line,
		     struct error *err)
{
	struct policy_file file =
		policy_file_of((const char *)text->data, text->len);
	bool placed = false;
	struct policy_line line;
	int more, done = 0;

	while ((more = policy_file_next(&file, &line, err)) > 0 && done == 0) {
		enum rule_action action = action_on(&line, rule);
		bool rival = is_rival(action, rule->action);

		if (rival && placed)
			continue;
		if (rival && action != rule->action)
			done = append_changed(out, &line, new_line, err);
		else
			done = append(out, line.start, line.size, err);
		placed |= rival;
	}
	if (more < 0)
		return line_error(&line, err);
	if (done == 0 && !placed)
		done = append_line(out, new_line, err);
	return done;
}

int policy_rules_add(struct buffer *text, const char *line, struct error *err)
{
	AUTO_BUFFER struct buffer changed = BUFFER_INIT(text->max);
	struct policy_rule rule;
	int done;

	if (rule_parse(line, strlen(line), RULE_ALLOW, &rule, err) < 0)
		return -1;
	done = copy_with(&changed, text, &rule, line, err);
	rule_release(&rule);
	return done < 0 ? -1 : replace(text, &changed);
}

/* Copies all but the lines about the rule; how many these were. */
static int copy_without(struct buffer *out, const struct buffer *text,
			const struct policy_rule *rule, bool any_action,
			struct error *err)
{
	struct policy_file file =
		policy_file_of((const char *)text->data, text->len);
	struct policy_line line;
	int more, removed = 0;

	while ((more = policy_file_next(&file, &line, err)) > 0) {
		enum rule_action action = action_on(&line, rule);

		if (action == rule->action ||
		    (any_action && action != RULE_ACTIONS))
			removed++;
		else if (append(out, line.start, line.size, err) < 0)
			return -1;
	}
	return more < 0 ? line_error(&line, err) : removed;
}

int policy_rules_remove(struct buffer *text, const char *typed,
			struct error *err)
{
	AUTO_BUFFER struct buffer changed = BUFFER_INIT(text->max);
	struct policy_rule rule, denied;
	int removed;

	/* It has a word of its own if another one does not change it. */
	if (rule_parse(typed, strlen(typed), RULE_ALLOW, &rule, err) < 0)
		return -1;
	if (rule_parse(typed, strlen(typed), RULE_DENY, &denied, err) < 0) {
		rule_release(&rule);
		return -1;
	}
	removed = copy_without(&changed, text, &rule,
			       rule.action != denied.action, err);
	rule_release(&rule);
	rule_release(&denied);
	if (removed > 0)
		(void)replace(text, &changed);
	return removed;
}

static void note_fact(const struct policy_line *line,
		      struct policy_facts *facts)
{
	if (line->kind == POLICY_LINE_DEFAULT) {
		facts->has_default = true;
		facts->allow = line->allow;
	} else if (line->kind == POLICY_LINE_PRESET) {
		memcpy(facts->preset, line->preset, line->preset_len);
		facts->preset[line->preset_len] = '\0';
	}
}

int policy_rules_facts(const char *text, size_t len, struct policy_facts *facts,
		       struct error *err)
{
	struct policy_file file = policy_file_of(text, len);
	struct policy_line line;
	int more;

	*facts = (struct policy_facts){ 0 };
	while ((more = policy_file_next(&file, &line, err)) > 0)
		note_fact(&line, facts);
	return more < 0 ? line_error(&line, err) : 0;
}

/* The line that says a fact of this kind, or "" for none. */
static void fact_line(const struct policy_facts *facts,
		      enum policy_line_kind kind, char *out, size_t size)
{
	out[0] = '\0';
	if (kind == POLICY_LINE_PRESET && facts->preset[0])
		(void)text_format(out, size, "preset %s", facts->preset);
	else if (kind == POLICY_LINE_DEFAULT && facts->has_default)
		(void)text_format(out, size, "default %s",
				  facts->allow ? "allow" : "deny");
}

static int copy_facts(struct buffer *out, const struct buffer *text,
		      const struct policy_facts *facts, struct error *err)
{
	struct policy_file file =
		policy_file_of((const char *)text->data, text->len);
	char want[2][POLICY_PRESET_NAME_MAX + 16];
	struct policy_line line;
	int more, done = 0;

	fact_line(facts, POLICY_LINE_DEFAULT, want[0], sizeof(want[0]));
	fact_line(facts, POLICY_LINE_PRESET, want[1], sizeof(want[1]));
	while ((more = policy_file_next(&file, &line, err)) > 0 && done == 0) {
		char *fact = want[line.kind == POLICY_LINE_PRESET];

		if (line.kind != POLICY_LINE_PRESET &&
		    line.kind != POLICY_LINE_DEFAULT)
			done = append(out, line.start, line.size, err);
		else if (*fact)
			done = append_changed(out, &line, fact, err);
		if (line.kind == POLICY_LINE_PRESET ||
		    line.kind == POLICY_LINE_DEFAULT)
			*fact = '\0';
	}
	if (more < 0)
		return line_error(&line, err);
	for (int i = 0; i < 2 && done == 0; i++) {
		if (want[i][0])
			done = append_line(out, want[i], err);
	}
	return done;
}

int policy_rules_set_facts(struct buffer *text,
			   const struct policy_facts *facts, struct error *err)
{
	AUTO_BUFFER struct buffer changed = BUFFER_INIT(text->max);

	if (copy_facts(&changed, text, facts, err) < 0)
		return -1;
	return replace(text, &changed);
}

int policy_rules_list(const char *text, size_t len, policy_rules_fn *fn,
		      void *ctx, struct error *err)
{
	struct policy_file file = policy_file_of(text, len);
	char target[POLICY_RULE_TEXT_SIZE];
	struct policy_line line;
	int more;

	while ((more = policy_file_next(&file, &line, err)) > 0) {
		struct policy_rules_item item = { .line = line.number,
						  .target = target };
		struct policy_rule rule;

		if (line.kind != POLICY_LINE_RULE)
			continue;
		if (rule_parse(line.content, line.len, RULE_ALLOW, &rule, err) <
		    0)
			return line_error(&line, err);
		rule_format_target(&rule, target, sizeof(target));
		item.action = rule_action_name(rule.action);
		rule_release(&rule);
		fn(ctx, &item);
	}
	return more < 0 ? line_error(&line, err) : 0;
}
