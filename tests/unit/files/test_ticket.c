/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ticket.c - one permission, one answer, in order
 */
#include "files/ticket.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/tap.h"

static struct ticket_queue queue;

static struct ticket *add(enum ticket_kind kind, uint32_t type,
			  const char *name)
{
	struct ticket *ticket = ticket_add(&queue);

	if (!ticket)
		return NULL;
	ticket->kind = kind;
	ticket->type = type;
	ticket->share = 1;
	ticket->at.folder = 7;
	memcpy(ticket->at.name, name, strlen(name) + 1);
	return ticket;
}

static struct ticket_request request(uint32_t opcode, const char *name)
{
	return (struct ticket_request){
		.opcode = opcode, .share = 1, .folder = 7, .name = name
	};
}

static void a_ticket_is_good_for_one_answer(void)
{
	struct ticket_request unlink = request(FUSE_UNLINK, "a");

	ticket_queue_init(&queue);
	add(TICKET_REMOVE, S_IFREG, "a");
	CHECK(!ticket_use(&queue, &unlink)); /* not sent yet */
	CHECK(ticket_send(&queue, 5)->sent_ms == 5);
	CHECK(ticket_use(&queue, &unlink) != NULL);
	CHECK(!ticket_use(&queue, &unlink));
	ticket_queue_release(&queue);
}

static void another_operation_name_folder_or_share_does_not_match(void)
{
	struct ticket_request wrong[] = {
		request(FUSE_RMDIR, "a"),  request(FUSE_SETATTR, "a"),
		request(FUSE_RENAME, "a"), request(FUSE_CREATE, "a"),
		request(FUSE_UNLINK, "b"), request(FUSE_UNLINK, "a"),
		request(FUSE_UNLINK, "a"),
	};

	ticket_queue_init(&queue);
	add(TICKET_REMOVE, S_IFREG, "a");
	ticket_send(&queue, 0);
	wrong[2].name2 = "a";
	wrong[5].folder = 8;
	wrong[6].share = 0;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(!ticket_use(&queue, &wrong[i]));
	ticket_queue_release(&queue);
}

static void each_kind_has_its_requests(void)
{
	static const struct {
		enum ticket_kind kind;
		uint32_t type, opcode;
	} rows[] = {
		{ TICKET_MODIFY, S_IFREG, FUSE_SETATTR },
		{ TICKET_CLOSE_WRITE, S_IFREG, FUSE_SETATTR },
		{ TICKET_ATTRIB, S_IFDIR, FUSE_SETATTR },
		{ TICKET_CREATE, S_IFREG, FUSE_MKNOD },
		{ TICKET_CREATE, S_IFIFO, FUSE_MKNOD },
		{ TICKET_CREATE, S_IFDIR, FUSE_MKDIR },
		{ TICKET_CREATE, S_IFLNK, FUSE_SYMLINK },
		{ TICKET_REMOVE, S_IFREG, FUSE_UNLINK },
		{ TICKET_REMOVE, S_IFDIR, FUSE_RMDIR },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned matches = 0;

		ticket_queue_init(&queue);
		add(rows[i].kind, rows[i].type, "a");
		ticket_send(&queue, 0);
		for (uint32_t opcode = 1; opcode < 64; opcode++) {
			struct ticket_request it = request(opcode, "a");

			it.name2 = "a";
			if (!ticket_use(&queue, &it))
				continue;
			CHECK(opcode == rows[i].opcode);
			matches++;
		}
		CHECK(matches == 1);
		ticket_queue_release(&queue);
	}
}

static void a_rename_names_both_places(void)
{
	struct ticket_request it = request(FUSE_RENAME2, "a");
	const struct ticket *found;
	struct ticket *ticket;

	ticket_queue_init(&queue);
	ticket = add(TICKET_RENAME, S_IFREG, "a");
	ticket->to.folder = 9;
	memcpy(ticket->to.name, "b", 2);
	CHECK(ticket_role(&queue, 1, 7, "a", &found) == TICKET_NO_ROLE);
	ticket_send(&queue, 0);
	CHECK(ticket_role(&queue, 1, 7, "a", &found) == TICKET_SOURCE);
	CHECK(ticket_role(&queue, 1, 9, "b", &found) == TICKET_TARGET);
	CHECK(ticket_role(&queue, 1, 9, "a", &found) == TICKET_NO_ROLE);
	CHECK(ticket_role(&queue, 0, 7, "a", &found) == TICKET_NO_ROLE);
	it.folder2 = 7;
	it.name2 = "b";
	CHECK(!ticket_use(&queue, &it));
	it.folder2 = 9;
	CHECK(ticket_use(&queue, &it) == ticket);
	CHECK(ticket_role(&queue, 1, 7, "a", &found) == TICKET_NO_ROLE);
	ticket_queue_release(&queue);
}

static void the_queue_is_bounded_and_so_is_what_is_sent(void)
{
	unsigned sent = 0;

	ticket_queue_init(&queue);
	for (unsigned i = 0; i < TICKET_MAX; i++)
		CHECK(add(TICKET_MODIFY, S_IFREG, "a") != NULL);
	CHECK(!add(TICKET_MODIFY, S_IFREG, "a"));
	while (ticket_send(&queue, 0))
		sent++;
	CHECK(sent == TICKET_WINDOW && !ticket_is_near(&queue));
	CHECK(ticket_is_sent(&queue, 1) && ticket_is_sent(&queue, sent));
	CHECK(!ticket_is_sent(&queue, 0) && !ticket_is_sent(&queue, sent + 1));
	ticket_take(&queue);
	CHECK(!ticket_is_sent(&queue, 1));
	CHECK(ticket_send(&queue, 0)->number == sent + 1);
	CHECK(!ticket_sent(&queue, TICKET_WINDOW));
	ticket_queue_release(&queue);
}

static void a_repeated_change_waits_once(void)
{
	ticket_queue_init(&queue);
	add(TICKET_MODIFY, S_IFREG, "a");
	CHECK(!ticket_fold(&queue));
	add(TICKET_MODIFY, S_IFREG, "b");
	CHECK(!ticket_fold(&queue));
	add(TICKET_MODIFY, S_IFREG, "a");
	CHECK(ticket_fold(&queue) && queue.count == 2);
	/* Between two removals lies a life. */
	add(TICKET_REMOVE, S_IFREG, "a");
	CHECK(!ticket_fold(&queue));
	add(TICKET_CREATE, S_IFREG, "a");
	CHECK(!ticket_fold(&queue));
	add(TICKET_REMOVE, S_IFREG, "a");
	CHECK(!ticket_fold(&queue));
	while (ticket_send(&queue, 0))
		;
	/* What was sent may have been answered. */
	add(TICKET_REMOVE, S_IFREG, "a");
	CHECK(!ticket_fold(&queue));
	ticket_queue_release(&queue);
}

int main(void)
{
	RUN(a_ticket_is_good_for_one_answer);
	RUN(another_operation_name_folder_or_share_does_not_match);
	RUN(each_kind_has_its_requests);
	RUN(a_rename_names_both_places);
	RUN(the_queue_is_bounded_and_so_is_what_is_sent);
	RUN(a_repeated_change_waits_once);
	return DONE();
}
