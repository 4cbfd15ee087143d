/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_learn.h - rules that would have allowed what was seen
 *
 * As few as a person would write: one for a host and its ports, methods and a
 * path's beginning where every request was looked into, a wildcard where three
 * hosts or more differ in their first label only. No wildcard is made above
 * names that belong to different people. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address;
struct buffer;
struct error;

/* A line of the log. */
struct policy_seen {
	const char *name;              /* or NULL */
	const struct address *address; /* of one without a name */
	uint16_t port;
	const char *protocol; /* other than tcp, tls and http do not count */
	const char *method;   /* of a request, or NULL */
	const char *path;     /* of a request, or NULL */
	bool allowed;
};

/*
 * Appends lines of a policy: first what was allowed, then what was refused,
 * each under a comment. shared: text with a domain on each line, below which
 * names belong to different people. What cannot be a rule is left out. -1: no
 * room.
 */
int policy_learn(const struct policy_seen *seen, size_t count,
		 const char *shared, struct buffer *out, struct error *err);
