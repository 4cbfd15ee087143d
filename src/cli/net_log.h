/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_log.h - what bawn-net wrote down about a sandbox's connections
 *
 * One JSON object a line in sandboxes/NAME/net/log.jsonl, older ones in
 * log.jsonl.1 and so on. A process that reads a guest's bytes wrote them: a
 * line that is not as it must be is passed over, and nothing is printed as it
 * came.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct sandbox;

#define NET_LOG_FOLDER "net"
#define NET_LOG_FILE "log.jsonl"
#define NET_LOG_OLDER 3 /* log.jsonl.1 is the newest of them */
#define NET_LOG_TARGET_SIZE 320

struct net_log_entry {
	json_t *json; /* owned; the texts below are its */
	const char *time, *sandbox, *protocol;
	const char *name;          /* "" for a literal address */
	const char *address;       /* "" where none was looked at */
	const char *method, *path; /* "" where no request was seen */
	const char *query;         /* with its `?`; of inspected hosts alone */
	const char *rule;          /* "" when no rule said so */
	const char *scope, *reason;
	uint16_t port;
	bool denied;
	bool held;       /* a question was asked; its verdict follows */
	uint64_t status; /* of the response; 0: none was seen */
	uint64_t bytes_out, bytes_in;
};

/* -1: not such a line. Release it only after success. */
int net_log_decode(const char *line, size_t len, struct net_log_entry *entry);
void net_log_release(struct net_log_entry *entry);

/* A connection or request of a guest's: what rules decide. */
bool net_log_is_outgoing(const struct net_log_entry *entry);
/* "example.com:443", "[2001:db8::1]:443". */
void net_log_target(const struct net_log_entry *entry,
		    char out[NET_LOG_TARGET_SIZE]);
/*
 * The rule that would allow it, without a port that every rule has; -1 when
 * there is none.
 */
int net_log_wish(const struct net_log_entry *entry,
		 char out[NET_LOG_TARGET_SIZE]);

/* Every line of the sandbox's files, the oldest first. */
typedef void net_log_line_fn(void *ctx, const char *line, size_t len);
void net_log_read(const struct sandbox *sandbox, net_log_line_fn *each,
		  void *ctx);
/* The folder of the files; -1 when nothing was ever written. */
int net_log_open(const struct sandbox *sandbox);
