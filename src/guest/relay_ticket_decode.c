/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ticket_decode.c - what a TICKET record says
 */
#include "base/text.h"
#include "guest/relay_ticket.h"
#include "proto/cursor.h"

static int take_path(struct cursor *c, char path[PATH_MAX])
{
	const char *text = cursor_str(c);

	return text && *text && !text_copy(path, PATH_MAX, text) ? 0 : -1;
}

int ticket_record_decode(const void *bytes, size_t len,
			 struct ticket_record *ticket)
{
	struct cursor c = cursor_over(bytes, len);
	uint32_t operation = cursor_u32(&c);

	ticket->number = cursor_u32(&c);
	ticket->kind = operation & TICKET_KIND_MASK;
	ticket->type = operation & ~TICKET_KIND_MASK;
	ticket->path2[0] = '\0';
	if (ticket->kind == 0 || ticket->kind >= TICKET_KINDS ||
	    take_path(&c, ticket->path) < 0)
		return -1;
	if (ticket->kind == TICKET_RENAME && take_path(&c, ticket->path2) < 0)
		return -1;
	return cursor_done(&c) ? 0 : -1;
}
