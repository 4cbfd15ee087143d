/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_settings.h - the network's settings as the command line gives them
 * (PROTOCOL.md §5)
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "state/port_list.h"
#include "state/socket_list.h"

struct error;

#define NET_SETTINGS_ASK_MAX_MS 600000
#define NET_SETTINGS_SOURCES_MAX 64

/*
 * Strict. What is missing of `proxy`, `hook`, `keys`, `ssh_agent` and `layers`
 * is taken from old, which may be NULL: then there is none. Rules are
 * bawn-net's to judge. Caller owns what is returned; NULL with what is wrong.
 */
json_t *net_settings_check(const json_t *given, const json_t *old,
			   struct error *err);
/* Of settings that were checked. */
uint64_t net_settings_ask_ms(const json_t *settings);
void net_settings_ports(const json_t *settings, struct port_list *ports);
void net_settings_set_ports(json_t *settings, const struct port_list *ports);
/* The host's path of a named socket; NULL when there is none. */
const char *net_settings_socket(const json_t *settings, json_int_t index);
/* The agent that is meant when this one is the ssh-agent's; else NULL. */
const json_t *net_settings_ssh_agent(const json_t *settings, json_int_t index);
/* The folder of layers; NULL: none are kept. */
const char *net_settings_layers(const json_t *settings);
/* The paths in the guest. */
json_t *net_settings_guest_sockets(const json_t *settings);
