/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolv_conf.c - the name servers in /etc/resolv.conf
 */
#include "launch/resolv_conf.h"

#include <stdbool.h>
#include <string.h>

#include "launch/line_words.h"

static void take(const struct line_words *line, struct resolv_conf *out)
{
	struct address address;

	if (line->count < 2 || !line_word_is(line, 0, "nameserver") ||
	    out->count == RESOLV_CONF_SERVERS_MAX ||
	    address_parse(line->words[1], line->lens[1], &address) < 0)
		return;
	for (size_t i = 0; i < out->count; i++) {
		if (address_equal(&out->servers[i], &address))
			return;
	}
	out->servers[out->count++] = address;
}

void resolv_conf_parse(const void *bytes, size_t len, struct resolv_conf *out)
{
	static const uint8_t loopback[4] = { 127, 0, 0, 1 };
	struct line_words line = { .rest = bytes, .left = len };

	*out = (struct resolv_conf){ .count = 0 };
	while (line_words_next(&line))
		take(&line, out);
	if (!out->count)
		out->servers[out->count++] = address_v4(loopback);
}
