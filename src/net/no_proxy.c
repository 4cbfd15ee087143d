/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_proxy.c - which hosts are reached without the host's proxy
 */
#include "net/no_proxy.h"

#include <string.h>

#include "wire/authority.h"

static bool below(const char *name, const char *domain)
{
	size_t len = strlen(name), tail = strlen(domain);

	if (len < tail || strcmp(name + len - tail, domain) != 0)
		return false;
	return len == tail || name[len - tail - 1] == '.';
}

static bool in_range(const char *text, size_t len,
		     const struct address *address)
{
	struct cidr range;

	return address && cidr_parse(text, len, &range) >= 0 &&
	       cidr_contains(&range, address);
}

static bool matches(const char *text, size_t len, const char *name,
		    const struct address *address, uint16_t port)
{
	struct authority entry;
	struct address plain;

	if (len == 1 && text[0] == '*')
		return true;
	if (len > 1 && text[0] == '*' && text[1] == '.') {
		text++;
		len--;
	}
	if (len > 1 && text[0] == '.') {
		text++;
		len--;
	}
	if (address && address_parse(text, len, &plain) == 0)
		return address_equal(&plain, address);
	if (in_range(text, len, address))
		return true;
	if (authority_parse(text, len, &entry) < 0 ||
	    (entry.port && entry.port != port))
		return false;
	if (entry.address.family)
		return address && address_equal(&entry.address, address);
	return name && below(name, entry.host);
}

bool no_proxy_has(const char *list, const char *name,
		  const struct address *address, uint16_t port)
{
	static const char separators[] = ", \t";

	while (list && *list) {
		size_t len = strcspn(list, separators);

		if (len && matches(list, len, name, address, port))
			return true;
		list += len + strspn(list + len, separators);
	}
	return false;
}
