/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breaker.h - when a loop turns without getting anywhere
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BREAKER_IDLE_TURNS 3  /* without a change */
#define BREAKER_SAME_ERRORS 5 /* one after another */
#define STRUGGLE_IDLE_TURNS 2 /* the third one trips the breaker */
#define STRUGGLE_SHORT_TURNS 3
#define STRUGGLE_SHORT_SECONDS 30
#define STRUGGLE_SAME_ERRORS 2

struct breaker {
	unsigned idle;       /* turns without change or progress */
	unsigned brief;      /* turns that were over at once */
	unsigned same_error; /* the same error, one after another */
	uint64_t signature;  /* of that error; 0: none */
};

struct breaker_facts {
	bool changed; /* a file, a commit, a task */
	double seconds;
	uint64_t signature; /* 0: no error */
};

void breaker_note(struct breaker *breaker, const struct breaker_facts *facts);
/* Why the loop must stop; NULL: it goes on. */
const char *breaker_trip(const struct breaker *breaker);
/* Half open: one more turn of the same kind trips it again. */
void breaker_half_open(struct breaker *breaker);
/* One line for each sign, for people and for the next prompt; "" for none. */
void breaker_struggle(const struct breaker *breaker, char *out, size_t size);

/* How long to wait after the nth failure in a row, from 0. */
uint64_t breaker_backoff(uint64_t first_seconds, unsigned n,
			 uint64_t retry_after);
