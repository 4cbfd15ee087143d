/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_take.h - bytes out of a ring, for tests
 */
#pragma once

#include <string.h>
#include <sys/uio.h>

#include "base/ring.h"

/* Copies out and consumes at most len bytes; returns how many. */
static inline size_t ring_take(struct ring *ring, void *bytes, size_t len)
{
	struct iovec iov[2];
	int count = ring_readable(ring, iov);
	size_t done = 0;

	for (int i = 0; i < count && done < len; i++) {
		size_t part = len - done;

		if (part > iov[i].iov_len)
			part = iov[i].iov_len;
		memcpy((char *)bytes + done, iov[i].iov_base, part);
		done += part;
	}
	ring_consume(ring, done);
	return done;
}
