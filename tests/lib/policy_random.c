/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_random.c - random rules over all kinds, and targets near them
 */
#include "lib/policy_random.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const method_names[] = { "GET", "HEAD", "POST", "PUT" };

uint64_t random_next(struct random_source *source)
{
	uint64_t value = source->state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

unsigned random_below(struct random_source *source, unsigned limit)
{
	return (unsigned)(random_next(source) % limit);
}

static bool chance(struct random_source *source, unsigned percent)
{
	return random_below(source, 100) < percent;
}

static void append(char *text, size_t size, const char *more)
{
	size_t len = strlen(text);

	(void)text_copy(text + len, size - len, more);
}

/* Words of different length, so that no two differ by their length only. */
static void add_word(char *text, size_t size, const char *kind, unsigned number)
{
	char word[32];

	(void)text_format(word, sizeof(word), "%s%u", kind, number);
	append(text, size, word);
}

static void make_name(struct random_source *source, char *name, size_t size)
{
	unsigned depth = 1 + random_below(source, source->shape.name_depth);

	*name = '\0';
	for (unsigned i = 0; i < depth; i++) {
		if (i)
			append(name, size, ".");
		add_word(name, size, "l",
			 random_below(source, source->shape.labels));
		append(name, size, "x");
	}
}

static struct address make_address(struct random_source *source, bool v4)
{
	struct address address = { .family = v4 ? ADDRESS_V4 : ADDRESS_V6 };
	unsigned network = random_below(source, source->shape.networks);

	for (int i = 0; i < (v4 ? 4 : 16); i++)
		address.bytes[i] = (uint8_t)random_next(source);
	address.bytes[0] = (uint8_t)(v4 ? 20 + network % 64 : 0x20);
	address.bytes[1] = (uint8_t)(v4 ? network : 0x07 + network % 64);
	/* Some are guarded. */
	if (chance(source, 5))
		address.bytes[0] = v4 ? 10 : 0xfd;
	if (v4 && chance(source, 5)) {
		address.bytes[0] = 192;
		address.bytes[1] = 168;
	}
	return address;
}

static void make_range(struct random_source *source, bool v4, bool single,
		       struct cidr *range)
{
	struct address address = make_address(source, v4);
	unsigned all = v4 ? 32 : 128;
	unsigned min = source->shape.min_bits * (v4 ? 1 : 4);

	range->bits =
		(uint8_t)(single ? all
				 : min + random_below(source, all - min + 1));
	range->base = address_masked(&address, range->bits);
}

static uint16_t make_port(struct random_source *source)
{
	static const uint16_t usual[] = { 80, 443, 22, 8080 };

	if (chance(source, 50))
		return usual[random_below(source, 4)];
	return (uint16_t)(1 + random_below(source, source->shape.ports) * 37 %
				      65535);
}

static void make_ports(struct random_source *source, struct random_rule *rule)
{
	unsigned dice = random_below(source, 10);

	rule->has_port = dice >= 4 || rule->host == RANDOM_LOCALHOST;
	/* Among many rules one that denies everything would hide the rest. */
	if (rule->host == RANDOM_ANY && rule->action == RANDOM_DENY &&
	    !source->shape.closable) {
		rule->has_port = true;
		rule->low = (uint16_t)(2000 + random_below(source, 5000));
		rule->high = rule->low;
		return;
	}
	if (!rule->has_port)
		return;
	rule->low = make_port(source);
	rule->high = rule->low;
	if (dice >= 8)
		rule->high = make_port(source);
	if (dice == 9 && rule->low < 2)
		rule->high = 65535;
	if (rule->high < rule->low) {
		uint16_t low = rule->high;

		rule->high = rule->low;
		rule->low = low;
	}
}

static void add_wild_segment(struct random_source *source, char *path,
			     size_t size)
{
	unsigned word = random_below(source, source->shape.segments);

	switch (random_below(source, 5)) {
	case 0:
		append(path, size, "**");
		break;
	case 1:
		append(path, size, "*");
		break;
	case 2:
		add_word(path, size, "s", word);
		append(path, size, "*");
		break;
	case 3:
		append(path, size, "*");
		add_word(path, size, "t", word);
		break;
	default:
		append(path, size, "s*");
		add_word(path, size, "t", word);
	}
}

/* Half of them mean all that is below; some have a slash at their end. */
static void make_path(struct random_source *source, char *path, size_t size)
{
	unsigned depth = 1 + random_below(source, source->shape.path_depth);

	*path = '\0';
	for (unsigned i = 0; i < depth; i++) {
		append(path, size, "/");
		if (i + 1 == depth && chance(source, 50))
			append(path, size, chance(source, 80) ? "**" : "");
		else if (chance(source, source->shape.wild))
			add_wild_segment(source, path, size);
		else
			add_word(path, size, chance(source, 80) ? "s" : "S",
				 random_below(source, source->shape.segments));
	}
}

static void format_host(const struct random_rule *rule, char *out, size_t size)
{
	static const char *const prefixes[] = { "", "*.", "**.", "." };
	bool brackets = rule->host >= RANDOM_V6 &&
			rule->host <= RANDOM_V6_RANGE &&
			(rule->has_port || *rule->path);
	char range[CIDR_TEXT_SIZE];

	if (rule->host == RANDOM_ANY || rule->host == RANDOM_LOCALHOST) {
		(void)text_copy(out, size,
				rule->host == RANDOM_ANY ? "**" : "localhost");
		return;
	}
	if (rule->host < RANDOM_ANY) {
		(void)text_format(out, size, "%s%s", prefixes[rule->host],
				  rule->name);
		return;
	}
	if (rule->host == RANDOM_V4_RANGE || rule->host == RANDOM_V6_RANGE)
		cidr_format(&rule->range, range);
	else
		address_format(&rule->range.base, range);
	(void)text_format(out, size, "%s%s%s", brackets ? "[" : "", range,
			  brackets ? "]" : "");
}

static void format_rule(struct random_rule *rule)
{
	static const char *const actions[] = { "allow", "deny", "bypass",
					       "inspect" };
	char host[300], ports[16] = "", methods[32] = "";

	for (unsigned i = 0; i < RANDOM_METHODS; i++) {
		if (!(rule->methods & 1u << i))
			continue;
		append(methods, sizeof(methods), *methods ? "," : " ");
		append(methods, sizeof(methods), method_names[i]);
	}
	if (rule->has_port && rule->low == rule->high)
		(void)text_format(ports, sizeof(ports), ":%u", rule->low);
	else if (rule->has_port)
		(void)text_format(ports, sizeof(ports), ":%u-%u", rule->low,
				  rule->high);
	format_host(rule, host, sizeof(host));
	(void)text_format(rule->text, sizeof(rule->text), "%s%s %s%s%s",
			  actions[rule->action], methods, host, ports,
			  rule->path);
}

void random_make_rule(struct random_source *source, struct random_rule *rule)
{
	static const enum random_action actions[] = {
		RANDOM_ALLOW, RANDOM_ALLOW, RANDOM_ALLOW,  RANDOM_ALLOW,
		RANDOM_DENY,  RANDOM_DENY,  RANDOM_BYPASS, RANDOM_INSPECT,
	};

	memset(rule, 0, sizeof(*rule));
	rule->action = actions[random_below(source, 8)];
	rule->host = (enum random_host)random_below(source, RANDOM_HOSTS);
	if (rule->host < RANDOM_ANY)
		make_name(source, rule->name, sizeof(rule->name));
	else if (rule->host > RANDOM_ANY && rule->host < RANDOM_LOCALHOST)
		make_range(source, rule->host <= RANDOM_V4_RANGE,
			   rule->host == RANDOM_V4 || rule->host == RANDOM_V6,
			   &rule->range);
	make_ports(source, rule);
	if (rule->action <= RANDOM_DENY && chance(source, 30))
		rule->methods = 1 + random_below(source, 15);
	/* A range before a path needs a port. */
	if (rule->action <= RANDOM_DENY && chance(source, 30) &&
	    (rule->has_port || rule->host < RANDOM_V4))
		make_path(source, rule->path, sizeof(rule->path));
	format_rule(rule);
}

static void make_target_name(struct random_source *source,
			     const struct random_rule *near,
			     struct random_target *target)
{
	static const char *const host_names[] = { "localhost",
						  "host.docker.internal",
						  "gateway.docker.internal" };
	const char *dot;

	if (near->host == RANDOM_LOCALHOST) {
		(void)text_copy(target->name, sizeof(target->name),
				host_names[random_below(source, 3)]);
		return;
	}
	for (unsigned i = random_below(source, 4); i > 0; i--) {
		add_word(target->name, sizeof(target->name), "l",
			 random_below(source, source->shape.labels));
		append(target->name, sizeof(target->name), "x.");
	}
	dot = chance(source, 15) ? strchr(near->name, '.') : NULL;
	append(target->name, sizeof(target->name), dot ? dot + 1 : near->name);
}

static void make_target_address(struct random_source *source,
				const struct random_rule *near,
				struct random_target *target)
{
	struct address other =
		make_address(source, near->range.base.family != ADDRESS_V6);

	target->address = near->range.base;
	for (size_t i = near->range.bits / 8; i < 16; i++)
		target->address.bytes[i] |= other.bytes[i];
	if (chance(source, 20) || near->range.base.family == 0)
		target->address = other;
	if (near->host == RANDOM_LOCALHOST)
		target->address =
			(struct address){ ADDRESS_V4, { 127, 0, 0, 1 } };
	if (near->host == RANDOM_LOCALHOST && chance(source, 50))
		target->address = (struct address){ ADDRESS_V6, { [15] = 1 } };
}

/* Each `*` becomes something; the rest of a rule's path is kept. */
static void make_target_path(struct random_source *source, const char *near,
			     char *path, size_t size)
{
	char glob[256];

	(void)text_copy(glob, sizeof(glob), near);
	if (!*glob || chance(source, 15))
		make_path(source, glob, sizeof(glob));
	*path = '\0';
	for (const char *at = glob; *at; at++) {
		char one[2] = { *at, '\0' };

		if (*at != '*')
			append(path, size, one);
		else if (chance(source, 80))
			add_word(path, size, chance(source, 80) ? "s" : "/s",
				 random_below(source, source->shape.segments));
	}
	if (chance(source, 10))
		append(path, size, chance(source, 50) ? "/" : "//s1");
}

void random_make_target(struct random_source *source,
			const struct random_rule *near,
			struct random_target *target)
{
	unsigned dice = random_below(source, 6);

	memset(target, 0, sizeof(*target));
	target->is_name =
		near->host < RANDOM_ANY ||
		((near->host == RANDOM_ANY || near->host == RANDOM_LOCALHOST) &&
		 chance(source, 60));
	if (target->is_name)
		make_target_name(source, near, target);
	else
		make_target_address(source, near, target);
	if (target->is_name && !*target->name)
		make_name(source, target->name, sizeof(target->name));
	if (target->is_name && target->name[strlen(target->name) - 1] == '.')
		target->name[strlen(target->name) - 1] = '\0';
	target->port = near->has_port && chance(source, 70) ? near->low
							    : make_port(source);
	if (near->has_port && chance(source, 20))
		target->port = near->high;
	target->method = dice < RANDOM_METHODS ? method_names[dice]
			 : dice == 4           ? "post"
					       : "DELETE";
	target->method_bit = dice < RANDOM_METHODS ? 1u << dice : 0;
	target->has_path = chance(source, 95);
	make_target_path(source, near->path, target->path,
			 sizeof(target->path));
}
