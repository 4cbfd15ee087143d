/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the envelope of everything on the files port (PROTOCOL.md)
 *
 * Pure; shared by bawn-files, the relay in the guest and their tests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_HEADER_BYTES 8
#define RECORD_PAYLOAD_MAX ((1U << 20) + 4096)
#define RECORD_MARKER_BYTES 32
#define RECORD_VERSION 3
#define RECORD_HELLO_BYTES 20
#define RECORD_BULK_BYTES 8
#define RECORD_READ_BYTES 4
#define RECORD_ROOM_BYTES 4
#define RECORD_RINGS_BYTES 4
#define RECORD_MAKE_BYTES 8  /* behind the message */
#define RECORD_SPARES_MAX 64 /* nodes that a share may have */

enum record_type {
	RECORD_HELLO = 1,   /* guest: version, which shares are initialised */
	RECORD_WELCOME = 2, /* host: version and the list of shares */
	RECORD_FUSE = 3,    /* both: one FUSE message */
	RECORD_DROP = 4,    /* host: drop every cache of this share */
	RECORD_TICKET = 5,  /* host: do it again; guest: done up to here */
	RECORD_AHEAD = 6,  /* host: an answer before its request; guest: used */
	RECORD_BULK = 7,   /* host: records lie there; guest: so many read */
	RECORD_WRITE = 8,  /* guest: a FUSE message, but its data lies there */
	RECORD_ROOM = 9,   /* host: whether what is written will fit */
	RECORD_RINGS = 10, /* both: what follows lies there (rings.h) */
	RECORD_WAKE = 11,  /* host: something does; nothing else follows here */
	RECORD_SPARE = 12, /* host: nodes for files that the guest makes */
	RECORD_MAKE = 13,  /* guest: CREATE, and which of these it is */

	RECORD_TYPES,
};

enum record_feature {
	RECORD_READS_BULK = 1 << 0,  /* the relay reads what lies in memory */
	RECORD_WRITES_BULK = 1 << 1, /* it puts data of WRITE there */
	RECORD_READS_ROOM = 1 << 2,  /* it wants to be told of room */
	RECORD_KEEPS_LISTINGS = 1 << 3, /* it keeps them, and pays back */
	RECORD_HAS_RINGS = 1 << 4,   /* it can read and write them, and ring */
	RECORD_MAKES_FILES = 1 << 5, /* it has a use for spare nodes */
};

/* Of an AHEAD with a listing. */
#define RECORD_LISTING_WHOLE 1U /* every name of the folder is in it */

enum record_share_flag {
	RECORD_SHARE_READ_ONLY = 1 << 0,
	RECORD_SHARE_OVERLAY = 1 << 1, /* written over it, not to it */
	RECORD_SHARE_GONE = 1 << 2,    /* its number stays taken */
};

/*
 * What the notifier does once more, for the events that it raises.
 * In the low bits; the type of the file (S_IFMT) is above them.
 */
enum ticket_kind {
	TICKET_MODIFY = 1,      /* SETATTR: IN_MODIFY */
	TICKET_CLOSE_WRITE = 2, /* open and close: IN_CLOSE_WRITE; or as 1 */
	TICKET_ATTRIB = 3,      /* SETATTR: IN_ATTRIB */
	TICKET_CREATE = 4,      /* MKNOD, MKDIR, SYMLINK by type: IN_CREATE */
	TICKET_REMOVE = 5,      /* UNLINK, RMDIR by type: IN_DELETE */
	TICKET_RENAME = 6,      /* RENAME: IN_MOVED_FROM, IN_MOVED_TO */

	TICKET_KINDS,
};

#define TICKET_KIND_MASK 0xffU

struct record {
	uint32_t len; /* of the payload */
	uint8_t type;
	uint8_t share;
};

struct record_hello {
	uint32_t version;
	uint32_t notifier;    /* thread number of the notifier; 0: none */
	uint64_t initialised; /* bit n: share n answered INIT already */
	uint32_t features;    /* enum record_feature */
};

/* bytes: RECORD_HEADER_BYTES of them. -1 when it breaks the protocol. */
int record_decode(const void *bytes, struct record *record);
void record_encode(const struct record *record, void *bytes);
/* -1 when len or a field is wrong; this and the next. */
int record_hello_decode(const void *bytes, size_t len,
			struct record_hello *hello);
int record_done_decode(const void *bytes, size_t len, uint32_t *number);
/* RECORD_RINGS: where the first byte lies. */
int record_rings_decode(const void *bytes, size_t len, uint32_t *start);

/* A piece of the memory of bulk.h; that it is inside was checked. */
struct record_piece {
	uint32_t start, len;
};

/* RECORD_BULK of the host. -1 as above; this and the next two. */
int record_piece_decode(const void *bytes, size_t len,
			struct record_piece *piece);
/* RECORD_BULK of the guest: not 0. */
int record_read_decode(const void *bytes, size_t len, uint32_t *count);
/* RECORD_WRITE: behind the piece comes the message without its data. */
int record_write_decode(const void *bytes, size_t len,
			struct record_piece *piece);

/* RECORD_ROOM. -1 as above; this and the next. */
int record_room_decode(const void *bytes, size_t len, bool *there);
/* RECORD_AHEAD of the guest, RECORD_SPARE: nodes, at least one. */
int record_nodes_decode(const void *bytes, size_t len, size_t *count);
/* One of them: at < count. */
uint64_t record_node_at(const void *bytes, size_t at);

/* RECORD_MAKE: a message of message_len bytes, then the node. */
int record_make_decode(const void *bytes, size_t len, size_t *message_len,
		       uint64_t *node);

/* Where a table of so many keeps what belongs to a node of a share. */
static inline size_t record_bucket(unsigned share, uint64_t node,
				   size_t buckets)
{
	return (size_t)((node + share * 61U) % buckets);
}
