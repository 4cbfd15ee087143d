/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_list.h - which ports of a sandbox are published on the host
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define PORT_LIST_MAX 64
#define PORT_ADDRESS_SIZE 46 /* the longest address and its NUL */
#define PORT_DEFAULT_ADDRESS "127.0.0.1"

struct port_record {
	char address[PORT_ADDRESS_SIZE]; /* of the host; no name, no zone */
	uint16_t host, guest;            /* never 0 */
};

struct port_list {
	struct port_record items[PORT_LIST_MAX];
	size_t count;
};

bool port_record_same(const struct port_record *a, const struct port_record *b);
/* -1: the list is full, or has one that listens at the same place. */
int port_list_add(struct port_list *list, const struct port_record *port);
void port_list_remove(struct port_list *list, size_t at);
/* The one that listens there; NULL when there is none. */
const struct port_record *port_list_find(const struct port_list *list,
					 const char *address, uint16_t host);

/* An array of {"address", "host", "guest"}, as in sandbox.json. */
json_t *port_list_encode(const struct port_list *list);
/* Strict; list is empty after an error. */
int port_list_decode(const json_t *array, struct port_list *list,
		     struct error *err);
