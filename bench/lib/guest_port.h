/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_port.h - the guest's end of the network port, for what loads bawn-net
 *
 * Descriptor 3. It greets, asks for the address of one name, and then streams
 * to that address can be opened.
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"
#include "proto/mux.h"

struct guest_port_ops {
	void (*on_address)(void); /* of the name: it is known now */
	void (*on_stream)(void *ctx, struct mux_stream *stream);
	size_t (*on_data)(void *ctx, struct mux_stream *stream,
			  const uint8_t *bytes, size_t len);
};

/* Until the loop is stopped; the end of the port is the end of the program. */
void guest_port_run(struct loop *loop, const char *name,
		    const struct guest_port_ops *ops);

/* A stream to a port of the name. */
struct mux_stream *guest_port_open(uint16_t to, void *owner);
