/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_spec.h - a port of a sandbox on the host, as it is written
 *
 *	[[ADDRESS:]HOST:]PORT[/tcp]
 *
 * ADDRESS is 127.0.0.1 where none is given; IPv6 stands in brackets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "state/port_list.h"

struct error;

#define PORT_SPEC_TEXT_SIZE (PORT_ADDRESS_SIZE + 24)

/* port->host is 0 where none is given: port_spec_choose() finds one. */
int port_spec_parse(const char *text, struct port_record *port,
		    struct error *err);
/* "127.0.0.1:8080:3000" */
void port_spec_format(const struct port_record *port,
		      char out[PORT_SPEC_TEXT_SIZE]);
/*
 * A port of the host that nobody listens on now, so that it stays the same from
 * one start to the next.
 */
int port_spec_choose(struct port_record *port, struct error *err);
/* Whether other computers can reach it. */
bool port_spec_is_open(const struct port_record *port);

/* "127.0.0.1:8080->3000, ...": for a table. */
void port_spec_list(const struct port_list *list, char *dst, size_t size);
