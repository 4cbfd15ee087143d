/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_websocket.c - a tunnel that was a request to a host with a secret
 *
 * What the server says is WebSocket or nothing: frames are read, so that the
 * secret can be taken out of them. What the client says passes as it is, like
 * the body of a request.
 */
#include "net/flow_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/own.h"
#include "net/end.h"
#include "net/exchange_secrets.h"
#include "net/gate.h"
#include "net/websocket_mask.h"

struct flow_websocket {
	struct exchange_secrets secrets; /* owned; the mask is elsewhere */
	struct websocket_mask mask;
};

void flow_keep_secrets(struct flow *flow, struct exchange_secrets *secrets)
{
	if (!secrets->mask.count)
		return;
	flow->websocket = xcalloc(1, sizeof(*flow->websocket));
	websocket_mask_init(&flow->websocket->mask, &secrets->mask);
	flow->websocket->secrets = *secrets;
	*secrets = (struct exchange_secrets){ .bindings = NULL };
}

void flow_drop_secrets(struct flow *flow)
{
	struct flow_websocket *self = TAKE_PTR(flow->websocket);

	if (!self)
		return;
	websocket_mask_release(&self->mask);
	exchange_secrets_release(&self->secrets);
	free(self);
}

bool flow_lost_secret(const struct flow *flow)
{
	return flow->websocket &&
	       exchange_secrets_lost(&flow->websocket->secrets,
				     flow->gate->bindings, &flow->target);
}

/* How much may be read: all that comes of it must find room. */
static size_t count_room(const struct flow *flow)
{
	const struct mask *mask = &flow->websocket->mask.mask;
	size_t space = end_space(flow->client);
	size_t least = mask->held_len + WEBSOCKET_MASK_ROOM;

	if (space > sizeof(flow->gate->masked))
		space = sizeof(flow->gate->masked);
	return space > least ? space - least : 0;
}

/* One step. False: nothing more can be done now. */
static bool move_some(struct flow *flow, size_t *moved)
{
	struct gate *gate = flow->gate;
	struct websocket_piece piece;
	size_t room = count_room(flow), len;
	const uint8_t *bytes;

	if (!room)
		return false;
	if (room > sizeof(gate->scratch))
		room = sizeof(gate->scratch);
	end_fill(flow->server);
	bytes = end_gather(flow->server, gate->scratch, room, &len);
	if (websocket_mask_step(&flow->websocket->mask, bytes, len,
				gate->masked, &piece) < 0) {
		flow_log(flow, AUDIT_ALLOW, piece.problem);
		flow_close(flow, ECONNRESET);
		return false;
	}
	end_take(flow->server, piece.taken);
	end_write(flow->client, gate->masked, piece.len);
	*moved += piece.len;
	return piece.taken > 0;
}

size_t flow_move_masked(struct flow *flow, size_t budget)
{
	struct end *server = flow->server;
	size_t moved = 0;

	while (moved < budget && move_some(flow, &moved))
		;
	if (flow->state == FLOW_GONE)
		return 0;
	/* What is held belongs to a message that was cut. */
	if (server->eof && !server->error && count_room(flow) && moved < budget)
		end_finish(flow->client);
	return moved;
}
