/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - a connection that waits for somebody's word
 */
#include "cli/ask.h"

#include <string.h>

#include "base/text.h"

#define MS_MAX (24 * 3600 * 1000)

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

/* A name or an address in its one form, with its port. */
static int take_target(const json_t *json, struct ask *ask)
{
	const char *name = text_of(json, "name");
	const char *literal = text_of(json, "address");
	json_int_t port = json_integer_value(json_object_get(json, "port"));
	char host[HOSTNAME_MAX + 1], plain[ADDRESS_TEXT_SIZE];
	struct address address;

	if (port < 1 || port > UINT16_MAX)
		return -1;
	if (*name) {
		if (hostname_canonical(name, strlen(name), host) < 0)
			return -1;
		return text_format(ask->target, sizeof(ask->target), "%s:%d",
				   host, (int)port);
	}
	if (address_parse(literal, strlen(literal), &address) < 0)
		return -1;
	address_format(&address, plain);
	return text_format(ask->target, sizeof(ask->target),
			   address.family == ADDRESS_V6 ? "[%s]:%d" : "%s:%d",
			   plain, (int)port);
}

int ask_decode(const json_t *json, struct ask *ask)
{
	const json_t *id = json_object_get(json, "id");
	json_int_t left = json_integer_value(json_object_get(json, "ms_left"));
	const char *protocol = text_of(json, "protocol");

	memset(ask, 0, sizeof(*ask));
	if (!json_is_integer(id) || json_integer_value(id) < 0 || left < 0 ||
	    left > MS_MAX || take_target(json, ask) < 0)
		return -1;
	ask->id = (uint64_t)json_integer_value(id);
	ask->ms_left = left;
	text_printable(protocol, strlen(protocol), ask->protocol,
		       sizeof(ask->protocol));
	return 0;
}

size_t ask_decode_list(const json_t *list, struct ask asks[ASKS_MAX])
{
	size_t n = 0, i;
	json_t *value;

	json_array_foreach((json_t *)list, i, value)
	{
		if (n < ASKS_MAX && ask_decode(value, &asks[n]) == 0)
			n++;
	}
	return n;
}

const char *ask_verdict(enum ask_choice choice)
{
	static const char *const words[] = { [ASK_ONCE] = "once",
					     [ASK_ALWAYS] = "always",
					     [ASK_NEVER] = "never",
					     [ASK_DENY] = "deny" };

	return words[choice];
}
