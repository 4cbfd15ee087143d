/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_internal.h - what the parts of the relay share
 *
 * relay.c         the loop, what is sent, PID 1
 * relay_input.c   bytes of the port and of the ring become records
 * relay_call.c    asks a server for its marker
 * relay_bulk.c    what does not pass through the port
 * relay_rings.c   the port's bytes in memory, and the bell
 * relay_fuse.c    requests of the kernel, answers of the server
 * relay_early.c   changes that are answered before they are made
 * relay_make.c    the same of new files
 * relay_walk.c    walks, answered from what was sent ahead
 * relay_mount.c   what is mounted next
 * relay_child.c   mounts it, as a process of its own
 * relay_notify.c  a thread for what the kernel may make us wait for
 * relay_ticket.c  operations that raise events, on that thread
 */
#pragma once

#include <linux/fuse.h>
#include <pthread.h>

#include "base/list.h"
#include "guest/relay.h"
#include "guest/relay_ahead.h"
#include "guest/relay_child.h"
#include "guest/relay_known.h"
#include "guest/relay_listing.h"
#include "guest/relay_pending.h"
#include "guest/relay_spin.h"
#include "guest/relay_welcome.h"
#include "guest/relay_writes.h"
#include "proto/bulk.h"
#include "proto/call.h"
#include "proto/rings.h"

enum relay_share_state {
	RELAY_SHARE_NONE,     /* nothing is offered under this number */
	RELAY_SHARE_OFFERED,  /* to be mounted */
	RELAY_SHARE_MOUNTING, /* by a child, just now */
	RELAY_SHARE_MOUNTED,
	RELAY_SHARE_BARE,    /* mounted; an overlay is to go over it */
	RELAY_SHARE_LEAVING, /* gone: to be unmounted */
	RELAY_SHARE_OVER,    /* failed, or unmounted by somebody: left alone */
};

struct relay_share {
	enum relay_share_state state;
	int fd; /* owned: /dev/fuse; a number never changes its meaning */
	bool readable;
	bool muted;       /* nothing can be taken from it just now */
	bool initialised; /* INIT was answered */
	bool roomy;       /* so the server says: writes will fit */
	uint32_t flags, type;
	char *path;                         /* owned */
	uint64_t spares[RECORD_SPARES_MAX]; /* nodes: relay_make.c */
	unsigned spare_count;
};

struct relay_notifier {
	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t filled;
	struct list queue; /* struct notice */
	size_t queued_bytes;
	bool drop; /* too much was queued: nothing cached can be believed */
	uint32_t thread; /* its number; 0 until it runs */
	/* the thread's own: */
	bool stale;       /* see drop_stale() */
	struct list late; /* struct notice: tickets that wait for that */
};

struct relay_bulk {
	const uint8_t *to_guest; /* these are NULL where there is none */
	uint8_t *from_guest;
	uint8_t *answer; /* owned: where the kernel can take it from */
	struct bulk out; /* of from_guest */
	uint32_t read_pieces, read_bytes; /* that the host was not told of */
};

struct relay_rings {
	struct rings rings; /* without a memory: there are none */
	bool in, out;       /* what comes passes there, and what leaves */
	bool offered;       /* by the server: what leaves may do so, too */
	bool due;           /* something was written: the bell is to be rung */
	struct stream_in ear; /* for the port meanwhile */
};

struct relay {
	int port_fd, control_fd, epoll_fd, null_fd;
	struct relay_shared *shared;
	struct stream_in in;
	struct call call; /* of a deaf relay */
	bool calling;
	bool call_due; /* once more */
	struct spin spin;
	struct pending_table pending;
	bool preparing; /* for a snapshot: PID 1 waits until none is pending */
	struct writes writes;
	struct ahead_table ahead;
	struct known_table known;
	struct listings listings;
	struct relay_bulk bulk;
	struct relay_rings rings;
	struct relay_share shares[WELCOME_SHARES_MAX];
	unsigned count;
	unsigned recent; /* share that was asked last */
	unsigned looked; /* so many times in a row by looks alone */
	struct relay_notifier notifier;
	int mount_fd;         /* owned: what the child says; -1: none */
	unsigned mount_share; /* that it works on */
	enum relay_task mount_task;
	bool mount_done;          /* it has mounted it */
	bool mount_usable;        /* only details are missing */
	struct relay_child spare; /* waits for the next order */
	char problem[256];        /* the first one of this round */
	int ticket_fds[2];        /* from the notifier: u32, done up to this */
	bool connected;           /* HELLO was sent: requests may follow */
	bool welcomed;            /* WELCOME came and was not reported yet */
	bool waits_for_port;      /* EPOLLOUT is asked for */
	bool urgent;              /* somebody waits for what is to be sent */
	unsigned hold_rounds;     /* else it may wait so long, */
	size_t hold_bytes;        /* and so much */
	bool pulled;              /* by a look, before anything was heard of */
	bool again;
	bool finishing;
};

/* Numbers in epoll; below are shares. */
enum {
	RELAY_EVENT_PORT = WELCOME_SHARES_MAX,
	RELAY_EVENT_CONTROL,
	RELAY_EVENT_MOUNT,
	RELAY_EVENT_TICKET,
};

/* relay.c */
int relay_watch(struct relay *relay, int fd, unsigned number, uint32_t events);
/* Writes what waits for the port. */
void relay_send(struct relay *relay);

/* What the server says; false when it makes no sense. */
bool relay_record(struct relay *relay, const struct record *record,
		  const uint8_t *payload);
/* One that begins with this marker. */
void relay_new_server(struct relay *relay,
		      const uint8_t marker[RECORD_MARKER_BYTES]);
/* The last one stays good: its server may die before it was of use. */
void relay_note_marker(struct relay_shared *shared,
		       const uint8_t marker[RECORD_MARKER_BYTES]);

/* relay_input.c */
/* The port can be read. */
void relay_receive(struct relay *relay);
/* What lies in the ring; false: nothing does. */
bool relay_receive_ring(struct relay *relay);

/* relay_call.c */
void relay_call_begin(struct relay *relay);
/* While calling: bytes that came. True: with the answer, which has the marker;
 * false: it is time to call again. */
bool relay_call_answered(struct relay *relay, const uint8_t *bytes, size_t len,
			 uint8_t marker[RECORD_MARKER_BYTES]);
void relay_call_again(struct relay *relay);

/* What stays in the record of a write whose data does not. */
#define RELAY_WRITE_HEAD \
	(sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in))

/* relay_bulk.c */
typedef bool relay_record_fn(struct relay *relay, const struct record *record,
			     const uint8_t *payload);
void relay_bulk_init(struct relay *relay);
/* Nothing is under way with a new server. */
void relay_bulk_reset(struct relay *relay);
uint32_t relay_bulk_features(const struct relay *relay);
/* RECORD_BULK; false when there is something else than records. */
bool relay_bulk_receive(struct relay *relay, const uint8_t *bytes, size_t len,
			relay_record_fn *on_record);
/* Tells the host what was read, if it is time. */
void relay_bulk_tell(struct relay *relay);
/* A record in room, the data beside it if it is large; false: no room there. */
bool relay_bulk_send(struct relay *relay, struct pending *pending,
		     uint8_t *room);
void relay_bulk_answered(struct relay *relay, const struct pending *pending);

/* relay_rings.c */
void relay_rings_init(struct relay *relay);
uint32_t relay_rings_features(const struct relay *relay);
/* With a new server all goes through the port. */
void relay_rings_reset(struct relay *relay);
/* RECORD_RINGS; false when it is none. */
bool relay_rings_offer(struct relay *relay, const uint8_t *bytes, size_t len);
/* All has left that goes through the port; false: it has to be waited for. */
bool relay_rings_enter(struct relay *relay);
/* As many bytes as there is room for; the bell is for all of them. */
size_t relay_rings_write(struct relay *relay, const uint8_t *bytes, size_t len);
void relay_rings_announce(struct relay *relay);
/* As many as there are. */
size_t relay_rings_read(struct relay *relay, void *room, size_t left);
/* What came through the port; false: it makes no sense. */
bool relay_rings_hear(struct relay *relay);

/* relay_fuse.c */
void relay_fuse_init(struct relay *relay);
/* Takes requests of the kernel while there are any, and room; true: some. */
bool relay_fuse_pull(struct relay *relay, unsigned share);
/* Waits for requests where they can be taken, but for one that is looked at. */
void relay_fuse_listen(struct relay *relay);
/* There are no more looks: that one is waited for as well. */
void relay_fuse_rest(struct relay *relay);
/* An answer or a notification; false when it is neither. */
bool relay_fuse_reply(struct relay *relay, unsigned share, const uint8_t *bytes,
		      size_t len);
/* The answer to GETATTR, from here. */
void relay_fuse_tell_attr(struct relay *relay, unsigned share, uint64_t unique,
			  const struct fuse_attr_out *attr);
/* An answer to a request that may come. */
void relay_fuse_ahead(struct relay *relay, unsigned share, const uint8_t *bytes,
		      size_t len);
/* It may have been done once: makes that harmless. */
void relay_fuse_repeat(struct pending *pending);
/* The file system is gone: its number stands for nothing. */
void relay_fuse_over(struct relay *relay, unsigned share);

/* With more requests than that it is not worth the search. */
#define RELAY_AHEAD_PENDING_MAX 64

/* relay_walk.c */
/* A listing that came ahead; false when it is none. */
bool relay_walk_take(struct relay *relay, unsigned share, const uint8_t *bytes,
		     size_t len);
/* The server's answer to READDIRPLUS, which the kernel has. */
void relay_walk_answered(struct relay *relay, const struct pending *pending,
			 const uint8_t *body, size_t len);
/* True: READDIRPLUS or LOOKUP was answered. */
bool relay_walk_list(struct relay *relay, unsigned share, const uint8_t *bytes,
		     size_t len);
bool relay_walk_lookup(struct relay *relay, unsigned share,
		       const uint8_t *bytes, size_t len);
/* Tells the server which ones were used, or never will be. */
void relay_walk_tell(struct relay *relay);

/*
 * relay_early.c: sets pending->answered when the kernel was answered. The
 * request goes on to the server in any case.
 */
void relay_early_write(struct relay *relay, struct pending *pending);
void relay_early_set(struct relay *relay, struct pending *pending);
void relay_early_remove(struct relay *relay, struct pending *pending);
/* May a change of this node be answered? */
bool relay_early_may(struct relay *relay, unsigned share, uint64_t node);
/* The answer, which begins with a struct fuse_out_header. */
void relay_early_say(struct relay *relay, struct pending *pending,
		     const void *reply, size_t len);
/* True: GETATTR was answered, of a folder where one of these is under way, or
 * of a file that was just written, where only its size is asked for. */
bool relay_early_attr(struct relay *relay, unsigned share,
		      const struct fuse_in_header *in, const uint8_t *bytes,
		      size_t len);
/* The server's answer to one of these; to any other. */
void relay_early_done(struct relay *relay, const struct pending *pending,
		      const struct fuse_out_header *head, const uint8_t *bytes);
void relay_early_learn(struct relay *relay, const struct pending *pending,
		       const struct fuse_out_header *head,
		       const uint8_t *bytes);
/* After it was taken from the pending ones: attributes as they are now. */
void relay_early_keep(struct relay *relay, unsigned share, uint64_t node,
		      const uint8_t *bytes, size_t len);
/* RECORD_ROOM; false when it is none. */
bool relay_early_room(struct relay *relay, unsigned share, const uint8_t *bytes,
		      size_t len);
/* A new server has not said anything yet. */
void relay_early_reset(struct relay *relay);

/*
 * relay_make.c: RECORD_SPARE; false when it is none. A CREATE that came, and
 * how long its name may be believed: true when it was answered, and passed on.
 * The server's answer to one of these.
 */
bool relay_make_spares(struct relay *relay, unsigned share,
		       const uint8_t *bytes, size_t len);
bool relay_make_file(struct relay *relay, unsigned share, const uint8_t *bytes,
		     size_t len, uint64_t seconds, uint8_t *room);
void relay_make_done(struct relay *relay, const struct pending *pending,
		     const struct fuse_out_header *head, const uint8_t *bytes);
/* True: GETATTR was answered, which is a part of open() of such a file. */
bool relay_make_open(struct relay *relay, unsigned share,
		     const struct fuse_in_header *in);
/* To where records leave from. */
void relay_make_send(struct relay *relay, const struct pending *pending,
		     uint8_t *room);
/* None is left of the last server's. */
void relay_make_reset(struct relay *relay);

/* relay_mount.c */
/* Starts the next child when there is something to do and none runs. */
void relay_mount_next(struct relay *relay);
void relay_mount_event(struct relay *relay);
/* True while a child runs or has to. */
bool relay_mount_busy(const struct relay *relay);
/* True while a share is not there yet that will be. */
bool relay_mount_waits(const struct relay *relay);
void relay_mount_init(struct relay *relay);

/* relay_notify.c */
int relay_notify_start(struct relay *relay);
/* Copies it; any record that is not an answer. Never waits. */
void relay_notify(struct relay *relay, const struct record *record,
		  const uint8_t *payload);

/*
 * relay_drop.c: on the notifier's thread. What the kernel has cached of a
 * share and nobody uses is forgotten; of all overlays, and what they stand on.
 */
void relay_drop(const struct relay *relay, unsigned number);
void relay_drop_overlays(const struct relay *relay);

/*
 * relay_ticket.c: on the notifier's thread. It writes the ticket's number to
 * ticket_fds[1] when it is done.
 */
void relay_ticket(const struct relay *relay, unsigned share,
		  const uint8_t *bytes, size_t len);
