/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - what a guest wants to reach
 */
#include "net/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "net/names.h"

static const char *const host_names[] = {
	TARGET_HOST_NAME,
	"host.docker.internal",
	"gateway.docker.internal",
};

bool target_is_host_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_names); i++) {
		if (strcmp(host_names[i], name) == 0)
			return true;
	}
	return false;
}

struct address target_host_address(void)
{
	const uint8_t bytes[4] = { TARGET_HOST_ADDRESS >> 24,
				   (TARGET_HOST_ADDRESS >> 16) & 0xff,
				   (TARGET_HOST_ADDRESS >> 8) & 0xff,
				   TARGET_HOST_ADDRESS & 0xff };

	return address_v4(bytes);
}

/* 127.0.0.1 and ::1, and nothing else of 127.0.0.0/8. */
static bool is_loopback(const struct address *address)
{
	static const struct address v4 = { ADDRESS_V4, { 127, 0, 0, 1 } };
	static const struct address v6 = { ADDRESS_V6, { [15] = 1 } };

	return address_equal(address, &v4) || address_equal(address, &v6);
}

static void set_name(struct target *out, const char *name)
{
	out->is_host = target_is_host_name(name);
	out->name = xstrdup(out->is_host ? TARGET_HOST_NAME : name);
}

enum target_result target_from_address(const struct names *names,
				       const struct address *address,
				       uint16_t port, struct target *out)
{
	struct address host = target_host_address();
	const char *name = names_find(names, address);

	*out = (struct target){ .port = port };
	if (address_equal(address, &host)) {
		if (port == TARGET_PROXY_PORT)
			return TARGET_PROXY;
		name = TARGET_HOST_NAME;
	} else if (is_loopback(address)) {
		name = TARGET_HOST_NAME;
	}
	if (name)
		set_name(out, name);
	else if (names_is_ours(address))
		return TARGET_UNKNOWN;
	else
		out->address = *address;
	return TARGET_GOOD;
}

enum target_result target_from_authority(const struct names *names,
					 const struct authority *authority,
					 uint16_t port, struct target *out)
{
	if (authority->port)
		port = authority->port;
	if (authority->address.family)
		return target_from_address(names, &authority->address, port,
					   out);
	*out = (struct target){ .port = port };
	if (target_is_host_name(authority->host)) {
		if (port == TARGET_PROXY_PORT)
			return TARGET_PROXY;
	} else if (hostname_is_special(authority->host)) {
		return TARGET_SPECIAL;
	}
	set_name(out, authority->host);
	return TARGET_GOOD;
}

void target_release(struct target *target)
{
	free(target->name);
	*target = (struct target){ 0 };
}

void target_copy(const struct target *from, struct target *out)
{
	*out = *from;
	if (from->name)
		out->name = xstrdup(from->name);
}

bool target_same(const struct target *a, const struct target *b)
{
	if (a->port != b->port || !a->name != !b->name)
		return false;
	if (a->name)
		return strcmp(a->name, b->name) == 0;
	return address_equal(&a->address, &b->address);
}

bool target_is_called(const struct target *target,
		      const struct authority *authority, uint16_t port)
{
	if ((authority->port ? authority->port : port) != target->port)
		return false;
	if (target->is_host)
		return authority->address.family
			       ? is_loopback(&authority->address)
			       : target_is_host_name(authority->host);
	if (target->name)
		return !authority->address.family &&
		       strcmp(authority->host, target->name) == 0;
	return address_equal(&authority->address, &target->address);
}

void target_host(const struct target *target, char out[HOSTNAME_MAX + 1])
{
	if (target->name)
		(void)text_copy(out, HOSTNAME_MAX + 1, target->name);
	else
		address_format(&target->address, out);
}

void target_format(const struct target *target, char out[AUTHORITY_TEXT_SIZE])
{
	struct authority authority = { .address = target->address };

	target_host(target, authority.host);
	if ((target->port != 80 && target->port != 443) || target->is_host)
		authority.port = target->port;
	authority_format(&authority, out);
}
