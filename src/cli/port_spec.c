/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_spec.c - a port of a sandbox on the host, as it is written
 */
#include "cli/port_spec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "wire/address.h"

static int wrong(const char *text, const char *why, struct error *err)
{
	char shown[80];

	text_printable(text, strlen(text), shown, sizeof(shown));
	return error_set(err, 0, "port %s: %s", shown, why);
}

static int parse_number(const char *from, size_t len, uint16_t *out)
{
	char digits[8];
	uint64_t value;

	if (len == 0 || len >= sizeof(digits))
		return -1;
	memcpy(digits, from, len);
	digits[len] = '\0';
	if (text_to_u64(digits, 1, UINT16_MAX, &value) < 0)
		return -1;
	*out = (uint16_t)value;
	return 0;
}

/* An address in front of its colon; its length with the colon, or -1. */
static long parse_address(const char *text, size_t len,
			  struct port_record *port)
{
	const char *from = text, *end = memchr(text, ':', len);
	struct address address;

	if (len && text[0] == '[') {
		from++;
		end = memchr(text, ']', len);
	}
	if (!end || address_parse(from, (size_t)(end - from), &address) < 0 ||
	    (address.family == ADDRESS_V6) != (from != text))
		return -1;
	address_format(&address, port->address);
	end += from != text;
	return end < text + len && *end == ':' ? end - text + 1 : -1;
}

/* "/tcp" is the only protocol that there is. */
static int strip_protocol(const char *text, size_t *len, struct error *err)
{
	const char *slash = strchr(text, '/');

	*len = slash ? (size_t)(slash - text) : strlen(text);
	if (!slash || !strcmp(slash, "/tcp") || !strcmp(slash, "/tcp4"))
		return 0;
	return wrong(text, "only tcp can be published", err);
}

int port_spec_parse(const char *text, struct port_record *port,
		    struct error *err)
{
	static const char form[] = "not [[ADDRESS:]HOST:]PORT with ports from "
				   "1 to 65535";
	const char *rest = text, *colon;
	size_t len, colons = 0;
	long taken = 0;

	*port = (struct port_record){ .address = PORT_DEFAULT_ADDRESS };
	if (strip_protocol(text, &len, err) < 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		colons += text[i] == ':';
	if (colons > 1)
		taken = parse_address(text, len, port);
	if (taken < 0)
		return wrong(text,
			     "the host's side is an address (IPv6 in "
			     "brackets), not a name",
			     err);
	rest += taken;
	len -= (size_t)taken;
	colon = memchr(rest, ':', len);
	/* ADDRESS::PORT leaves the choice of the host's port to us */
	if (colon && (colon > rest || !taken) &&
	    parse_number(rest, (size_t)(colon - rest), &port->host) < 0)
		return wrong(text, form, err);
	if (colon) {
		len -= (size_t)(colon - rest) + 1;
		rest = colon + 1;
	}
	return parse_number(rest, len, &port->guest) < 0
		       ? wrong(text, form, err)
		       : 0;
}

void port_spec_format(const struct port_record *port,
		      char out[PORT_SPEC_TEXT_SIZE])
{
	bool v6 = strchr(port->address, ':') != NULL;

	text_format(out, PORT_SPEC_TEXT_SIZE, "%s%s%s:%u:%u", v6 ? "[" : "",
		    port->address, v6 ? "]" : "", port->host, port->guest);
}

static bool parse(const struct port_record *port, struct address *address)
{
	return address_parse(port->address, strlen(port->address), address) ==
	       0;
}

int port_spec_choose(struct port_record *port, struct error *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} place = { 0 };
	struct address address;
	socklen_t len;
	AUTO_CLOSE int fd = -1;

	if (port->host)
		return 0;
	if (!parse(port, &address))
		return error_set(err, EINVAL, "%s", port->address);
	if (address.family == ADDRESS_V4) {
		place.v4.sin_family = AF_INET;
		memcpy(&place.v4.sin_addr, address.bytes, 4);
		len = sizeof(place.v4);
	} else {
		place.v6.sin6_family = AF_INET6;
		memcpy(&place.v6.sin6_addr, address.bytes, 16);
		len = sizeof(place.v6);
	}
	fd = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, &place.any, len) < 0 ||
	    getsockname(fd, &place.any, &len) < 0)
		return error_set(err, errno, "a free port on %s",
				 port->address);
	port->host = ntohs(place.any.sa_family == AF_INET ? place.v4.sin_port
							  : place.v6.sin6_port);
	return 0;
}

bool port_spec_is_open(const struct port_record *port)
{
	static const uint8_t loopback6[16] = { [15] = 1 };
	struct address address;

	if (!parse(port, &address))
		return true;
	if (address.family == ADDRESS_V4)
		return address.bytes[0] != 127;
	return memcmp(address.bytes, loopback6, sizeof(loopback6)) != 0;
}

void port_spec_list(const struct port_list *list, char *dst, size_t size)
{
	size_t used = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < list->count && used < size; i++) {
		const struct port_record *port = &list->items[i];
		bool v6 = strchr(port->address, ':') != NULL;

		if (text_format(dst + used, size - used, "%s%s%s%s:%u->%u",
				i ? ", " : "", v6 ? "[" : "", port->address,
				v6 ? "]" : "", port->host, port->guest) < 0)
			return;
		used += strlen(dst + used);
	}
}
