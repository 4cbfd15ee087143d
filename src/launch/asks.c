/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asks.c - connections that wait for somebody's answer
 */
#include "launch/asks.h"

#include <string.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"

static const char *const verdicts[] = {
	[ASK_ONCE] = "once",
	[ASK_ALWAYS] = "always",
	[ASK_NEVER] = "never",
	[ASK_DENY] = "deny",
};
_Static_assert(ARRAY_SIZE(verdicts) == ASK_VERDICTS, "a word for each");

int ask_verdict_parse(const char *word, size_t len, enum ask_verdict *verdict)
{
	for (unsigned i = 0; i < ASK_VERDICTS; i++) {
		if (strlen(verdicts[i]) == len &&
		    memcmp(verdicts[i], word, len) == 0) {
			*verdict = (enum ask_verdict)i;
			return 0;
		}
	}
	return -1;
}

bool ask_allows(enum ask_verdict verdict)
{
	return verdict == ASK_ONCE || verdict == ASK_ALWAYS;
}

static int parse_name(const char *name, struct ask *ask)
{
	char canonical[HOSTNAME_MAX + 1];

	if (hostname_canonical(name, strlen(name), canonical) < 0 ||
	    strcmp(canonical, name) != 0)
		return -1;
	text_copy(ask->target.host, sizeof(ask->target.host), name);
	return 0;
}

static int parse_address(const char *text, struct ask *ask)
{
	if (address_parse(text, strlen(text), &ask->address) < 0)
		return -1;
	if (ask->target.host[0])
		return 0;
	ask->target.address = ask->address;
	address_format(&ask->address, ask->target.host);
	return 0;
}

static bool is_word(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");

	return len && !text[len] && len < ASKS_PROTOCOL_SIZE;
}

int ask_parse(const json_t *packet, struct ask *ask, struct error *err)
{
	json_t *id = json_object_get(packet, "id");
	json_t *port = json_object_get(packet, "port");
	const char *name = json_string_value(json_object_get(packet, "name"));
	const char *address =
		json_string_value(json_object_get(packet, "address"));
	const char *protocol =
		json_string_value(json_object_get(packet, "protocol"));
	json_int_t number = json_integer_value(port);

	*ask = (struct ask){ .net_id = json_integer_value(id) };
	if (!json_is_integer(id) || number < 1 || number > UINT16_MAX ||
	    !protocol || !is_word(protocol))
		return error_set(err, 0, "ask: id, port or protocol");
	ask->target.port = (uint16_t)number;
	text_copy(ask->protocol, sizeof(ask->protocol), protocol);
	if ((!name && !address) || (name && parse_name(name, ask) < 0) ||
	    (address && parse_address(address, ask) < 0))
		return error_set(err, 0, "ask: name or address");
	return 0;
}

struct ask *asks_add(struct asks *asks, const struct ask *ask)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		if (asks->items[i].id)
			continue;
		asks->items[i] = *ask;
		if (++asks->last_id == 0)
			asks->last_id = 1;
		asks->items[i].id = asks->last_id;
		return &asks->items[i];
	}
	return NULL;
}

struct ask *asks_find(struct asks *asks, uint32_t id)
{
	for (size_t i = 0; id && i < ASKS_MAX; i++) {
		if (asks->items[i].id == id)
			return &asks->items[i];
	}
	return NULL;
}

struct ask *asks_find_net(struct asks *asks, json_int_t net_id)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		if (asks->items[i].id && asks->items[i].net_id == net_id)
			return &asks->items[i];
	}
	return NULL;
}

bool ask_same_target(const struct ask *a, const struct ask *b)
{
	return a->target.port == b->target.port &&
	       !strcmp(a->target.host, b->target.host);
}

json_t *ask_json(const struct ask *ask)
{
	uint64_t now = loop_now_ms();
	json_int_t left =
		ask->over_ms > now ? (json_int_t)(ask->over_ms - now) : 0;
	bool named = !ask->target.address.family;
	char address[ADDRESS_TEXT_SIZE] = "";

	if (ask->address.family)
		address_format(&ask->address, address);
	return json_pack(
		"{s:I, s:s?, s:s?, s:i, s:s, s:I}", "id", (json_int_t)ask->id,
		"name", named ? ask->target.host : NULL, "address",
		address[0] ? address : NULL, "port", (int)ask->target.port,
		"protocol", ask->protocol, "ms_left", left);
}

json_t *asks_json(const struct asks *asks)
{
	json_t *array = json_array();

	for (size_t i = 0; i < ASKS_MAX; i++) {
		if (asks->items[i].id)
			json_array_append_new(array, ask_json(&asks->items[i]));
	}
	return array;
}

void ask_rule(const struct ask *ask, enum ask_verdict verdict,
	      char line[ASK_RULE_SIZE])
{
	char target[AUTHORITY_TEXT_SIZE];

	authority_format(&ask->target, target);
	text_format(line, ASK_RULE_SIZE, "%s %s",
		    ask_allows(verdict) ? "allow" : "deny", target);
}
