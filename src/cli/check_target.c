/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_target.c - where a connection would go, as it is typed
 */
#include "cli/check_target.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"

static const struct {
	const char *prefix;
	uint16_t port;
} schemes[] = {
	{ "https://", 443 },
	{ "http://", 80 },
	{ "", 443 }, /* the last one: no scheme */
};

int check_target_parse(const char *text, struct check_target *target,
		       struct error *err)
{
	char shown[120];
	size_t scheme = 0, len;
	const char *rest;

	text_printable(text, strlen(text), shown, sizeof(shown));
	while (!text_starts(text, schemes[scheme].prefix))
		scheme++;
	*target = (struct check_target){ 0 };
	rest = text + strlen(schemes[scheme].prefix);
	len = strcspn(rest, "/?#");
	if (authority_parse(rest, len, &target->authority) < 0) {
		/* an IPv6 address alone may come as it is printed */
		if (rest[len] ||
		    address_parse(rest, len, &target->authority.address) < 0)
			return options_usage(err,
					     "%s: not HOST[:PORT][/PATH] or a "
					     "http or https URL",
					     shown);
		address_format(&target->authority.address,
			       target->authority.host);
	}
	if (!target->authority.port)
		target->authority.port = schemes[scheme].port;
	target->is_encrypted =
		scheme == 0 || (scheme == 2 && target->authority.port == 443);
	if (rest[len] == '/')
		target->path = rest + len;
	else if (rest[len])
		target->path = "/";
	return 0;
}
