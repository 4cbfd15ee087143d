/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breaker.c - when a loop turns without getting anywhere
 */
#include "loop/breaker.h"

#include "base/text.h"

#define BACKOFF_MAX_SECONDS 600u

void breaker_note(struct breaker *breaker, const struct breaker_facts *facts)
{
	breaker->idle = facts->changed ? 0 : breaker->idle + 1;
	breaker->brief = facts->seconds < STRUGGLE_SHORT_SECONDS
				 ? breaker->brief + 1
				 : 0;
	if (!facts->signature)
		breaker->same_error = 0;
	else if (facts->signature == breaker->signature)
		breaker->same_error++;
	else
		breaker->same_error = 1;
	breaker->signature = facts->signature;
}

const char *breaker_trip(const struct breaker *breaker)
{
	if (breaker->same_error >= BREAKER_SAME_ERRORS)
		return "the same error 5 times";
	if (breaker->idle >= BREAKER_IDLE_TURNS)
		return "no file, commit or task changed in 3 iterations";
	return NULL;
}

void breaker_half_open(struct breaker *breaker)
{
	if (breaker->idle >= BREAKER_IDLE_TURNS)
		breaker->idle = BREAKER_IDLE_TURNS - 1;
	if (breaker->same_error >= BREAKER_SAME_ERRORS)
		breaker->same_error = BREAKER_SAME_ERRORS - 1;
}

void breaker_struggle(const struct breaker *breaker, char *out, size_t size)
{
	char idle[80] = "", brief[80] = "", same[80] = "";

	if (breaker->idle >= STRUGGLE_IDLE_TURNS)
		(void)text_format(idle, sizeof(idle),
				  "- nothing changed in the last %u "
				  "iterations\n",
				  breaker->idle);
	if (breaker->brief >= STRUGGLE_SHORT_TURNS)
		(void)text_format(brief, sizeof(brief),
				  "- the last %u iterations took less than %d "
				  "seconds each\n",
				  breaker->brief, STRUGGLE_SHORT_SECONDS);
	if (breaker->same_error >= STRUGGLE_SAME_ERRORS)
		(void)text_format(same, sizeof(same),
				  "- the same error came %u times in a row\n",
				  breaker->same_error);
	(void)text_format(out, size, "%s%s%s", idle, brief, same);
}

uint64_t breaker_backoff(uint64_t first_seconds, unsigned n,
			 uint64_t retry_after)
{
	uint64_t wait = first_seconds;

	while (n-- && wait < BACKOFF_MAX_SECONDS)
		wait *= 2;
	if (wait > BACKOFF_MAX_SECONDS)
		wait = BACKOFF_MAX_SECONDS;
	return wait > retry_after ? wait : retry_after;
}
