/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - JSON objects with descriptors, between our own processes
 *
 * On a SOCK_SEQPACKET pair: one packet is one object and up to four
 * descriptors, so nothing has to be put together and no descriptor can get to
 * the wrong object. Neither end trusts the other more than a client: what is
 * not one whole object within the bounds is refused, and its descriptors are
 * closed. Nothing here blocks.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;

#define PACKET_BYTES_MAX (16u * 1024)
#define PACKET_FDS_MAX 4

struct packet {
	json_t *json;            /* owned; NULL: none */
	int fds[PACKET_FDS_MAX]; /* owned; -1 where taken */
	size_t fd_count;
};

/* Both ends are close-on-exec. */
int packet_pair(int ends[2], struct error *err);
/*
 * Takes the reference of json; fds are borrowed. err->code is EAGAIN when the
 * peer does not read, EMSGSIZE when it is too long.
 */
int packet_send(int fd, json_t *json, const int *fds, size_t fd_count,
		struct error *err);
/*
 * 1 when one came (packet_release() it), 0 when there is none now; -1 with
 * err->code ECONNRESET when the peer has gone, or another when it sent
 * something that is no packet.
 */
int packet_receive(int fd, struct packet *packet, struct error *err);
/* The op of a packet; "" when it has none. */
const char *packet_op(const struct packet *packet);
/* Hands over the descriptor of that index; -1 when there is none. */
int packet_take_fd(struct packet *packet, size_t index);
/* Closes what was not taken. */
void packet_release(struct packet *packet);

/* Strict: one JSON object without duplicate keys, nothing else. Pure. */
json_t *packet_parse(const void *bytes, size_t len, struct error *err);
