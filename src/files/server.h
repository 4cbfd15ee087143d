/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - everything that one bawn-files process holds
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "files/ahead.h"
#include "files/announce.h"
#include "files/control.h"
#include "files/entry.h"
#include "files/node_fds.h"
#include "files/node_table.h"
#include "files/held.h"
#include "files/lower.h"
#include "files/port.h"
#include "files/reply_log.h"
#include "files/room.h"
#include "files/scout.h"
#include "files/share.h"
#include "files/shown.h"
#include "files/spare.h"
#include "files/undo.h"
#include "files/unseen.h"
#include "files/walk.h"
#include "files/watch.h"
#include "files/worker.h"

#define SERVER_ABSENT_MAX 64
#define SERVER_FROZEN_MAX 64
#define SERVER_ENTRIES_BYTES 32768

struct server {
	struct loop *loop;        /* borrowed */
	struct node_table *nodes; /* owned */
	struct node_fds fds;
	struct port port;
	struct watch watch;
	struct announce announce;
	struct ahead ahead;
	struct lower lower;
	struct room room;
	struct walk walk;
	struct reply_log replies;
	struct spares spares;
	struct worker worker;
	struct scout scout;
	struct timer sweep; /* runs while something is open for writing */
	struct share shares[NODE_SHARES_MAX];
	int root_fds[NODE_SHARES_MAX]; /* borrowed from shares */
	unsigned share_count;
	struct share_guest guest;
	struct node_key absent[SERVER_ABSENT_MAX]; /* bawn's own folders */
	size_t absent_count;
	struct unseen unseen;
	/* Files of the host that have a held name and others: guard.h */
	struct node_key frozen[SERVER_FROZEN_MAX];
	size_t frozen_count;
	struct control control;
	uint8_t next_marker[RECORD_MARKER_BYTES]; /* zeros: no successor */
	int state_fd; /* borrowed: folder of what outlives us; or -1 */
	struct guard_list guard; /* empty: no guard */
	struct entry_seen seen;
	struct held_folders held_folders;
	struct held_place held_place;
	struct held_changed_name held_name;
	struct shown shown;
	struct undo undo; /* keeps what the guest changes there */
	bool greeted;     /* HELLO was answered */
	uint8_t entries[SERVER_ENTRIES_BYTES] /* of one folder read */
		__attribute__((aligned(8)));
	char path[NODE_PATH_MAX]; /* scratch of policy.c */
};

/* After the shares are opened and before the process is locked. */
int server_init(struct server *server, struct loop *loop, int port_fd,
		int memory_fd, int control_fd, struct error *err);
int server_start(struct server *server, struct error *err);
void server_release(struct server *server);
/* Something was opened for writing: see to it that it is closed again. */
void server_wrote(struct server *server);
