/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - packets between bawn-net and its launcher (PROTOCOL.md §10)
 *
 * The launcher reads no byte of a guest, so what we say to it about one is
 * bounded and plain: canonical names, addresses, numbers.
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"
#include "net/audit.h"

struct error;
struct gate;
struct target;

struct control {
	struct gate *gate;
	struct source source; /* its fd is borrowed; -1: there is none */
};

int control_init(struct control *control, struct gate *gate, int fd,
		 struct error *err);
void control_release(struct control *control);

void control_say_ready(struct control *control);
void control_say_welcomed(struct control *control);
void control_say_rotate(struct control *control);
void control_say_traffic(struct control *control);
/* -1: the launcher does not listen. */
int control_say_ask(struct control *control, uint32_t id,
		    const struct target *target, enum audit_protocol protocol);
void control_say_asked(struct control *control, uint32_t id);
/* For a connection to bawn-layers; -1: nobody listens. */
int control_say_layers(struct control *control);
int control_say_socket(struct control *control, uint32_t id, unsigned index);
