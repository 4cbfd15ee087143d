/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - one JSON line for each decision
 *
 * What is denied is written at once, what is allowed at its end. Lines of one
 * round of the loop leave together. A disk that is full costs lines, never
 * traffic or memory: how many were lost is told when there is room again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"

struct decision;
struct error;
struct target;

#define AUDIT_ROTATE_BYTES (8u * 1024 * 1024)
#define AUDIT_STOP_BYTES (64u * 1024 * 1024) /* nobody rotates it */

enum audit_protocol {
	AUDIT_TCP,
	AUDIT_TLS,
	AUDIT_HTTP,
	AUDIT_HTTPS, /* requests inside TLS, which was intercepted */
	AUDIT_DNS,
	AUDIT_SOCKET,
	AUDIT_PUBLISHED,

	AUDIT_PROTOCOLS,
};

enum audit_verdict {
	AUDIT_ALLOW,
	AUDIT_DENY,
	AUDIT_ASK,

	AUDIT_VERDICTS,
};

struct audit {
	int fd;              /* borrowed; -1: nothing is written */
	const char *sandbox; /* borrowed */
	uint64_t file_bytes;
	char *pending; /* owned */
	size_t pending_len;
	uint64_t lost; /* lines */
	bool torn;     /* the file ends in a part of a line */
	bool asked;    /* on_full was called for this file */
	void (*on_full)(void *ctx);
	void *ctx;
	long long second; /* what `stamp` says */
	char stamp[24];
};

/* What is not known is 0 or NULL and not written. */
struct audit_record {
	uint32_t id; /* of the connection; 0: none */
	const struct target *target;
	const char *name;       /* when there is no target */
	struct address address; /* where it went; or the target's */
	uint16_t port;
	enum audit_protocol protocol;
	enum audit_verdict verdict;
	const char *method, *path;
	size_t path_len;   /* without the query */
	const char *query; /* only of hosts that are inspected */
	unsigned status;
	const struct decision *decision;
	const char *reason;
	uint64_t bytes_out, bytes_in; /* out of the guest and into it */
	uint64_t started_ms;          /* loop_now_ms() */
};

int audit_open(struct audit *audit, int fd, const char *sandbox,
	       struct error *err);
void audit_release(struct audit *audit);
/* Goes on in another file; the old one is the caller's. */
void audit_use(struct audit *audit, int fd);
void audit_write(struct audit *audit, const struct audit_record *record);
/* At the end of a round. */
void audit_flush(struct audit *audit);
const char *audit_protocol_name(enum audit_protocol protocol);
