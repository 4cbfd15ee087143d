/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - records of the port become requests; the life of the nodes
 */
#include "files/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "files/ops.h"
#include "files/policy.h"
#include "proto/cursor.h"

#define SWEEP_MS 250

static int send_welcome(struct server *server)
{
	size_t left;
	uint8_t *start = port_room(&server->port, &left);
	struct writer w = writer_over(start + RECORD_HEADER_BYTES,
				      left - RECORD_HEADER_BYTES);
	struct record record = { .type = RECORD_WELCOME };

	writer_u32(&w, RECORD_VERSION);
	writer_u32(&w, server->share_count);
	writer_bytes(&w, server->next_marker, sizeof(server->next_marker));
	for (unsigned i = 0; i < server->share_count; i++) {
		const struct share *share = &server->shares[i];
		struct node *root = node_table_by_id(server->nodes, i, 1);

		writer_u32(&w, share->flags);
		writer_u32(&w, root && !share->gone ? root->type : 0);
		writer_str(&w, share->guest_path);
	}
	if (w.bad || writer_len(&w) > RECORD_PAYLOAD_MAX)
		return -1;
	record.len = (uint32_t)writer_len(&w);
	record_encode(&record, start);
	port_commit(&server->port, RECORD_HEADER_BYTES + record.len);
	return 0;
}

static int on_hello(struct server *server, const uint8_t *payload, size_t len)
{
	struct record_hello hello;

	if (server->greeted || record_hello_decode(payload, len, &hello) < 0 ||
	    hello.version != RECORD_VERSION)
		return -1;
	server->greeted = true;
	port_use_bulk(&server->port, hello.features & RECORD_READS_BULK);
	server->announce.notifier = hello.notifier;
	for (unsigned i = 0; i < server->share_count; i++) {
		server->shares[i].initialised = hello.initialised >> i & 1;
		/* A kernel that never mounted it knows none of its nodes. */
		if (!server->shares[i].initialised) {
			node_table_clear(server->nodes, i);
			reply_log_forget(&server->replies, i);
		}
	}
	if (send_welcome(server) < 0)
		return -1;
	room_begin(server, hello.features & RECORD_READS_ROOM);
	spare_begin(server, hello.features & RECORD_MAKES_FILES);
	walk_begin(server, hello.features & RECORD_KEEPS_LISTINGS);
	if (hello.features & RECORD_HAS_RINGS)
		port_use_rings(&server->port);
	/* Only then does the guest know the next marker. */
	port_kick(&server->port);
	control_say(&server->control, "welcomed");
	/* What changed between a predecessor and us, nobody saw. */
	if (hello.initialised)
		watch_drop(server);
	return 0;
}

static int on_done(struct server *server, const uint8_t *payload, size_t len)
{
	uint32_t number;

	if (!server->greeted || record_done_decode(payload, len, &number) < 0)
		return -1;
	announce_done(server, number);
	return 0;
}

static int on_read(struct server *server, const uint8_t *payload, size_t len)
{
	uint32_t count;

	if (record_read_decode(payload, len, &count) < 0)
		return -1;
	return bulk_read(&server->port.bulk, count);
}

/* The head through the port, where nobody can change it any more. */
static int on_write(struct server *server, unsigned share,
		    const uint8_t *payload, size_t len)
{
	const uint8_t *memory = server->port.from_guest;
	struct record_piece piece;

	if (!memory || record_write_decode(payload, len, &piece) < 0)
		return -1;
	return ops_serve_write(server, share, payload + RECORD_BULK_BYTES,
			       len - RECORD_BULK_BYTES, memory + piece.start,
			       piece.len);
}

static int on_record(void *ctx, const struct record *record,
		     const uint8_t *payload)
{
	struct server *server = ctx;

	if (record->type == RECORD_HELLO)
		return on_hello(server, payload, record->len);
	if (record->type == RECORD_TICKET)
		return on_done(server, payload, record->len);
	if (!server->greeted)
		return -1;
	if (record->type == RECORD_BULK)
		return on_read(server, payload, record->len);
	if (record->type == RECORD_RINGS)
		return port_rings_begin(&server->port, payload, record->len);
	if (record->share >= server->share_count)
		return -1;
	if (record->type == RECORD_WRITE)
		return on_write(server, record->share, payload, record->len);
	if (record->type == RECORD_MAKE)
		return ops_serve_make(server, record->share, payload,
				      record->len);
	if (record->type == RECORD_AHEAD)
		return walk_used(server, record->share, payload, record->len);
	if (record->type != RECORD_FUSE)
		return -1;
	return ops_serve(server, record->share, payload, record->len);
}

static void on_room(void *ctx)
{
	struct server *server = ctx;

	ahead_send_late(server);
	watch_resume(server);
	announce_send(server);
	worker_answer(server);
}

/* Answers ahead, one by one: requests have their turn between them. */
static bool on_idle(void *ctx)
{
	return ahead_has_room(ctx) && (ahead_send_more(ctx) || walk_send(ctx));
}

static void on_end(void *ctx)
{
	struct server *server = ctx;

	if (server->port.why)
		log_error("the guest sent %s", server->port.why);
	loop_stop(server->loop);
}

static void on_node_free(void *ctx, struct node *node)
{
	struct server *server = ctx;

	if (node->fd_rights & NODE_FD_WRITE)
		undo_settle(server, node);
	policy_node_gone(server, node);
	watch_forget(server, node);
	node_fds_drop(&server->fds, node);
}

static int on_mark(void *ctx, const char *label, struct error *err)
{
	return undo_mark(ctx, label, err);
}

static void on_forget(void *ctx)
{
	struct server *server = ctx;

	/* Before HELLO it may say nothing, and then it says that anyway. */
	if (server->greeted)
		watch_drop_soon(server);
}

static void on_write_closed(void *ctx, struct node *node)
{
	undo_settle(ctx, node);
	watch_own_node(ctx, node, IN_CLOSE_WRITE);
}

static void on_sweep(struct timer *timer)
{
	struct server *server = CONTAINER_OF(timer, struct server, sweep);

	undo_beat(server);
	room_look(server);
	room_send(server);
	port_kick(&server->port);
	if (node_fds_sweep(&server->fds, on_write_closed, server))
		timer_start(server->loop, timer, SWEEP_MS);
}

void server_wrote(struct server *server)
{
	if (!server->sweep.loop)
		timer_start(server->loop, &server->sweep, SWEEP_MS);
}

static void compare_shares(struct server *server)
{
	for (unsigned i = 0; i < server->share_count; i++) {
		struct share *share = &server->shares[i];

		for (unsigned k = 0; k < server->share_count; k++) {
			const struct share *other = &server->shares[k];

			if (i == k)
				continue;
			share->holds_others |= share_way(share, other) != NULL;
			share->overlaps |= share_overlaps(share, other);
		}
	}
}

static int init_roots(struct server *server, struct error *err)
{
	for (unsigned i = 0; i < server->share_count; i++) {
		struct share *share = &server->shares[i];
		struct node_key key;
		struct statx st;

		server->root_fds[i] = share->root_fd;
		if (share->gone) {
			node_table_clear(server->nodes, i);
			continue;
		}
		if (statx(share->root_fd, "", AT_EMPTY_PATH, SHARE_STATX, &st) <
		    0)
			return error_set(err, errno, "%s", share->path);
		key = share_key(i, &st);
		share->root_dev = key.dev;
		share->owner_uid = st.stx_uid;
		share->owner_gid = st.stx_gid;
		node_table_set_root(server->nodes, &key, st.stx_mode & S_IFMT);
		held_init_share(server, share);
	}
	return 0;
}

int server_init(struct server *server, struct loop *loop, int port_fd,
		int memory_fd, int control_fd, struct error *err)
{
	server->loop = loop;
	server->sweep = (struct timer){ .name = "sweep", .on_fire = on_sweep };
	undo_init(&server->undo, memory_fd);
	server->nodes = node_table_new(memory_fd, err);
	if (!server->nodes)
		return -1;
	node_table_on_free(server->nodes, on_node_free, server);
	spare_init(server);
	reply_log_open(&server->replies, node_table_replies(server->nodes));
	node_fds_init(&server->fds, server->nodes, server->root_fds,
		      server->shares, NODE_FDS_MAX);
	shown_init(&server->shown, server->state_fd);
	server->fds.evicted = on_write_closed;
	server->fds.ctx = server;
	if (init_roots(server, err) < 0)
		return -1;
	compare_shares(server);
	announce_init(server);
	port_init(&server->port, port_fd);
	server->port.on_record = on_record;
	server->port.on_room = on_room;
	server->port.on_idle = on_idle;
	server->port.on_end = on_end;
	server->port.ctx = server;
	control_init(&server->control, control_fd);
	server->control.on_mark = on_mark;
	server->control.on_forget = on_forget;
	server->control.ctx = server;
	scout_init(&server->scout);
	if (worker_init(server, err) < 0)
		return -1;
	return watch_init(server, err);
}

int server_start(struct server *server, struct error *err)
{
	if (undo_start(server, err) < 0 || watch_start(server, err) < 0 ||
	    control_start(&server->control, server->loop, err) < 0)
		return -1;
	return port_start(&server->port, server->loop, err);
}

void server_release(struct server *server)
{
	timer_stop(&server->sweep);
	undo_release(server);
	node_fds_drop_all(&server->fds);
	loop_del(&server->worker.source);
	watch_release(server);
	announce_release(server);
	ahead_release(server);
	port_release(&server->port);
	control_release(&server->control);
	node_table_free(server->nodes);
	guard_list_release(&server->guard);
	shown_release(&server->shown);
	unseen_release(&server->unseen);
	for (unsigned i = 0; i < server->share_count; i++) {
		free(server->shares[i].path);
		free(server->shares[i].guest_path);
		free(server->shares[i].guard_root);
		free(server->shares[i].guard_git);
		hide_list_release(&server->shares[i].hide);
		if (!server->shares[i].gone)
			close(server->shares[i].root_fd);
	}
}
