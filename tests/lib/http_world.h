/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_world.h - requests through bawn-net's own code, the test at both ends
 *
 * Everything between a client's end and the server's end is real; connections
 * are socket pairs. Who links this needs the linker's --wrap for connect_start
 * and connect_cancel.
 */
#pragma once

#include <stdbool.h>

#include "net/gate.h"

#define WORLD_SERVERS 8

extern struct gate world_gate;
/* What the next connections to a server speak, and the sides of the test. */
extern bool world_server_http2;
extern int world_servers[WORLD_SERVERS];
extern int world_server_count;

/* Rules as in a policy; JSON escapes. The target is api.example:80. */
void world_open(const char *rules);
/* False: something was not given back. */
bool world_close(void);
/* The other side of a new client's connection, not blocking. */
int world_connect(bool http2);
/* Lets all that can happen happen. */
void world_step(void);
/* Other rules are in force. */
void world_change(const char *rules);
/* How many connections of clients there are. */
int world_flows(void);
/* A head took too long, on each of them. */
void world_deadline(void);
