/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - what takes time says so
 *
 * Library code reports; the CLI decides how it looks (a bar on a terminal, one
 * plain line for each step in a pipe). A NULL progress is silent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One of several things that go on side by side. */
struct progress_part {
	const char *name;
	const char *state; /* "waiting", "fetching", … */
	uint64_t done, total;
};

struct progress {
	/* A step begins: "fetching the guest kernel (Debian package)". */
	void (*step)(void *ctx, const char *text);
	/* How far the step is; total 0 = unknown. */
	void (*update)(void *ctx, uint64_t done, uint64_t total);
	/* The step is over; the bar goes away. */
	void (*done)(void *ctx);
	void *ctx;
	/* Of the step: all its parts, each time; may be NULL. */
	void (*parts)(void *ctx, const struct progress_part *parts,
		      size_t count);
};

static inline void progress_step(const struct progress *p, const char *text)
{
	if (p && p->step)
		p->step(p->ctx, text);
}

static inline void progress_update(const struct progress *p, uint64_t done,
				   uint64_t total)
{
	if (p && p->update)
		p->update(p->ctx, done, total);
}

static inline void progress_parts(const struct progress *p,
				  const struct progress_part *parts,
				  size_t count)
{
	if (p && p->parts)
		p->parts(p->ctx, parts, count);
}

static inline void progress_done(const struct progress *p)
{
	if (p && p->done)
		p->done(p->ctx);
}
