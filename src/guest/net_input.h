/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_input.h - what the host sends on the network port, up to a marker
 *
 * A new server announces itself by a marker in the middle of whatever its
 * predecessor had begun. Its bytes must not be taken for the rest of a frame:
 * they would end up in a program's connection. So the last bytes that came
 * are kept, and those that look like the beginning of a marker are held back
 * until it is clear that they are none. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/net_messages.h"

/* So many of a marker's bytes cannot be there by chance. */
#define NET_INPUT_LIKELY 6

struct net_input {
	uint8_t *bytes; /* owned */
	size_t size;
	size_t len;  /* in bytes, with some of the past */
	size_t fed;  /* of these, handed out already */
	size_t held; /* of these, at the end: may be the beginning of a marker
		      */
};

/* size: how much is read at a time. */
void net_input_init(struct net_input *in, size_t size);
void net_input_release(struct net_input *in);
/* Forgets all: another epoch begins. */
void net_input_reset(struct net_input *in);
/* Where to read to; what was handed out is gone. */
uint8_t *net_input_room(struct net_input *in, size_t *size);
/* So many bytes were read there, and more can be read behind them. */
void net_input_added(struct net_input *in, size_t len);
/* True: what came ends in one of the markers; found is a copy of it. */
bool net_input_marker(struct net_input *in,
		      const uint8_t (*markers)[NET_MARKER_BYTES],
		      unsigned count, uint8_t found[NET_MARKER_BYTES]);
/* The bytes that can be used; after net_input_marker(), if one may come. */
const uint8_t *net_input_take(struct net_input *in, size_t *len);
