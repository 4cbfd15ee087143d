/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_list.c - which ports of a sandbox are published on the host
 */
#include "state/port_list.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/text.h"

bool port_record_same(const struct port_record *a, const struct port_record *b)
{
	return a->host == b->host && a->guest == b->guest &&
	       !strcmp(a->address, b->address);
}

const struct port_record *port_list_find(const struct port_list *list,
					 const char *address, uint16_t host)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].host == host &&
		    !strcmp(list->items[i].address, address))
			return &list->items[i];
	return NULL;
}

int port_list_add(struct port_list *list, const struct port_record *port)
{
	if (list->count == PORT_LIST_MAX ||
	    port_list_find(list, port->address, port->host))
		return -1;
	list->items[list->count++] = *port;
	return 0;
}

void port_list_remove(struct port_list *list, size_t at)
{
	list->count--;
	memmove(&list->items[at], &list->items[at + 1],
		(list->count - at) * sizeof(list->items[0]));
}

json_t *port_list_encode(const struct port_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(
			array, json_pack("{s:s, s:i, s:i}", "address",
					 list->items[i].address, "host",
					 (int)list->items[i].host, "guest",
					 (int)list->items[i].guest));
	return array;
}

/* One text for each address, so that texts can be compared. */
static int copy_address(const char *text, char out[PORT_ADDRESS_SIZE])
{
	unsigned char bytes[sizeof(struct in6_addr)];
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	return inet_pton(family, text, bytes) == 1 &&
			       inet_ntop(family, bytes, out, PORT_ADDRESS_SIZE)
		       ? 0
		       : -1;
}

static int decode_one(json_t *value, struct port_list *list, struct error *err)
{
	struct port_record port = { .host = 0 };
	const char *address;
	json_int_t host, guest;
	json_error_t why;

	if (json_unpack_ex(value, &why, JSON_STRICT, "{s:s, s:I, s:I}",
			   "address", &address, "host", &host, "guest",
			   &guest) < 0)
		return error_set(err, 0, "port: %s", why.text);
	if (host < 1 || host > UINT16_MAX || guest < 1 || guest > UINT16_MAX ||
	    copy_address(address, port.address) < 0)
		return error_set(err, 0, "port: an address and two numbers");
	port.host = (uint16_t)host;
	port.guest = (uint16_t)guest;
	if (port_list_add(list, &port) < 0)
		return error_set(err, 0, "port: %s:%u is there twice",
				 port.address, port.host);
	return 0;
}

int port_list_decode(const json_t *array, struct port_list *list,
		     struct error *err)
{
	size_t count = json_array_size(array);

	*list = (struct port_list){ .count = 0 };
	if (!json_is_array(array) || count > PORT_LIST_MAX)
		return error_set(err, 0, "ports: an array of at most %d",
				 PORT_LIST_MAX);
	for (size_t i = 0; i < count; i++) {
		if (decode_one(json_array_get(array, i), list, err) < 0) {
			*list = (struct port_list){ .count = 0 };
			return -1;
		}
	}
	return 0;
}
