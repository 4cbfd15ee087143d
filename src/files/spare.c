/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.c - nodes for files that the guest makes without waiting for us
 */
#include "files/spare.h"

#include <linux/fuse.h>
#include <string.h>

#include "base/text.h"
#include "files/ops.h"
#include "files/server.h"
#include "proto/cursor.h"

void spare_init(struct server *server)
{
	uint32_t at = 0;
	unsigned share = 0;
	uint64_t id;

	while ((id = node_table_next_reserved(server->nodes, &at, &share))) {
		struct spare_list *list = &server->spares.lists[share];

		if (list->count < RECORD_SPARES_MAX)
			list->ids[list->count++] = id;
		else
			node_table_unreserve(server->nodes, share, id);
	}
}

void spare_begin(struct server *server, bool on)
{
	server->spares.on = on;
	for (unsigned i = 0; i < NODE_SHARES_MAX; i++)
		server->spares.lists[i].told = 0;
}

/* Names that are refused, or are another's, only we can tell. */
static bool may_give(struct server *server, unsigned share)
{
	const struct share *of = &server->shares[share];

	return server->spares.on && server->room.there[share] && !of->gone &&
	       !of->read_only && !of->folds_case && !of->hide.count &&
	       !of->overlaps;
}

static void tell(struct server *server, unsigned share)
{
	struct spare_list *list = &server->spares.lists[share];
	unsigned count = list->count - list->told;
	struct record record = { .type = RECORD_SPARE,
				 .share = (uint8_t)share,
				 .len = (uint32_t)(count * sizeof(uint64_t)) };
	size_t left;
	uint8_t *start = port_room(&server->port, &left);
	struct writer w;

	if (left < RECORD_HEADER_BYTES + record.len)
		return;
	record_encode(&record, start);
	w = writer_over(start + RECORD_HEADER_BYTES, record.len);
	while (list->told < list->count)
		writer_u64(&w, list->ids[list->told++]);
	port_commit(&server->port, RECORD_HEADER_BYTES + record.len);
}

void spare_give(struct server *server, unsigned share)
{
	struct spare_list *list = &server->spares.lists[share];

	if ((list->told && list->told + SPARE_WORTH > RECORD_SPARES_MAX) ||
	    !may_give(server, share))
		return;
	while (list->count < RECORD_SPARES_MAX) {
		uint64_t id = node_table_reserve(server->nodes, share);

		if (!id)
			break;
		list->ids[list->count++] = id;
	}
	if (list->told < list->count)
		tell(server, share);
}

static void take_out(struct spare_list *list, uint64_t id)
{
	unsigned at = 0;

	while (at < list->count && list->ids[at] != id)
		at++;
	if (at == list->count)
		return;
	list->count--;
	if (at < list->told)
		list->told--;
	/* Those that were told stay in front. */
	for (; at < list->count; at++)
		list->ids[at] = list->ids[at + 1];
}

bool spare_fits(struct server *server, unsigned share, uint64_t id)
{
	/* The second is one that a predecessor has made, but not answered. */
	return node_table_is_reserved(server->nodes, share, id) ||
	       node_table_by_id(server->nodes, share, id);
}

void spare_over(struct server *server, unsigned share, uint64_t id)
{
	take_out(&server->spares.lists[share], id);
	node_table_unreserve(server->nodes, share, id);
}

static struct spare_name name_of(const struct op *op)
{
	return (struct spare_name){ .folder = op->request->node,
				    .sum = text_hash(op->request->name),
				    .share = op->share_index };
}

static struct spare_name *find_lost(struct op *op)
{
	struct spares *spares = &op->server->spares;
	struct spare_name name;

	if (!spares->lost_count)
		return NULL;
	name = name_of(op);
	for (unsigned i = 0; i < spares->lost_count; i++) {
		if (spares->lost[i].folder == name.folder &&
		    spares->lost[i].share == name.share &&
		    spares->lost[i].sum == name.sum)
			return &spares->lost[i];
	}
	return NULL;
}

static void forget_lost(struct spares *spares, struct spare_name *name)
{
	struct spare_name *end = &spares->lost[--spares->lost_count];

	memmove(name, name + 1, (size_t)(end - name) * sizeof(*name));
}

void spare_lost(struct op *op)
{
	struct spares *spares = &op->server->spares;

	if (find_lost(op))
		return;
	if (spares->lost_count == SPARE_LOST_MAX)
		forget_lost(spares, &spares->lost[0]);
	spares->lost[spares->lost_count++] = name_of(op);
}

bool spare_may_name(struct op *op)
{
	switch (op->request->opcode) {
	case FUSE_LOOKUP:
		spare_named(op);
		return true;
	case FUSE_UNLINK:
	case FUSE_RENAME:
	case FUSE_RENAME2:
		return !find_lost(op);
	default:
		return true;
	}
}

void spare_named(struct op *op)
{
	struct spare_name *name = find_lost(op);

	if (name)
		forget_lost(&op->server->spares, name);
}

void spare_listed(struct server *server, unsigned share, uint64_t folder)
{
	struct spares *spares = &server->spares;

	for (unsigned i = spares->lost_count; i-- > 0;) {
		struct spare_name *name = &spares->lost[i];

		if (name->folder == folder && name->share == share)
			forget_lost(spares, name);
	}
}
