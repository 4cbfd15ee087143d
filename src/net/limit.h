/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit.h - how much a guest may have of everything
 *
 * Over a limit the newest or the heaviest is refused, logged, and the rest goes
 * on; when there is room again, so does the guest.
 */
#pragma once

/* Upstream connections that are being made, lookups included. */
#define LIMIT_HALF_OPEN 1024
/* Connections to the server behind one connection of a client. */
#define LIMIT_SERVERS 16
/* Addresses that are tried for one connection. */
#define LIMIT_CANDIDATES 16
/* Bytes in buffers of this process; over it the heaviest flow is reset. */
#define LIMIT_BUFFERED (64u * 1024 * 1024)
/* Of one socket, each way; a whole HTTP head must fit. */
#define LIMIT_SOCKET_BUFFER (128u * 1024)
/* Connections that are intercepted: some 50 KiB each, for TLS both ways. */
#define LIMIT_INTERCEPTED 2048
/* Questions that wait for a person. */
#define LIMIT_ASKS 64
/* Published connections that the guest has not answered yet. */
#define LIMIT_PUBLISHED_WAITING 256
/* Bytes for the guest that it does not read; then nothing more is read. */
#define LIMIT_BACKLOG (256u * 1024)
/* Descriptors of this process: 16,384 connections, and those being made. */
#define LIMIT_DESCRIPTORS 40000

/* HTTP/2: requests at a time on one connection. */
#define LIMIT_H2_STREAMS 100
/* Bytes of a body that come before we pass on the first: from the guest, which
 * is near, and from a server, which is far; and of all on one connection. */
#define LIMIT_H2_CLIENT_WINDOW (128 * 1024)
#define LIMIT_H2_SERVER_WINDOW (512 * 1024)
#define LIMIT_H2_WINDOW (16 * 1024 * 1024)
/* Of a body on its way out, before the peer takes it. */
#define LIMIT_H2_OUT (64u * 1024)
/* Streams that are opened and reset; frames that need work and move nothing
 * (settings, pings, priorities, empty ones). */
#define LIMIT_H2_RESETS 200
#define LIMIT_H2_RESETS_PER_S 50
#define LIMIT_H2_OTHERS 4000
#define LIMIT_H2_OTHERS_PER_S 1000

/* A client on 80 or 443 has said neither a whole ClientHello nor a head. Java
 * on an emulated processor with little time takes 7 s from the one to the
 * other. */
#define LIMIT_PEEK_MS 30000
/* From the first lookup to the connection. */
#define LIMIT_CONNECT_MS 30000
/* The next address is tried beside one that does not answer (RFC 8305). */
#define LIMIT_NEXT_ADDRESS_MS 250
/* A client that was answered for the last time still reads. */
#define LIMIT_LINGER_MS 10000
/* The guest connects to a port of its own. */
#define LIMIT_PUBLISHED_MS 30000
/* bawn-layers says whether it has a layer; the first time it is started. */
#define LIMIT_LAYER_MS 5000
/* The launcher connects to a Unix socket. */
#define LIMIT_SOCKET_MS 10000
