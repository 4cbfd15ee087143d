/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_breaker.c - unit tests of loop/breaker.h
 */
#include "loop/breaker.h"

#include "lib/tap.h"

static const struct breaker_facts idle = { .seconds = 100 };
static const struct breaker_facts changed = { .changed = true, .seconds = 100 };
static const struct breaker_facts wrong = { .changed = true,
					    .seconds = 100,
					    .signature = 7 };
static const struct breaker_facts brief = { .changed = true, .seconds = 1 };

static void three_idle_turns_trip_it(void)
{
	struct breaker breaker = { 0 };

	breaker_note(&breaker, &idle);
	breaker_note(&breaker, &idle);
	CHECK(!breaker_trip(&breaker));
	breaker_note(&breaker, &changed);
	breaker_note(&breaker, &idle);
	breaker_note(&breaker, &idle);
	CHECK(!breaker_trip(&breaker));
	breaker_note(&breaker, &idle);
	CHECK(breaker_trip(&breaker));
	breaker_half_open(&breaker);
	CHECK(!breaker_trip(&breaker));
	breaker_note(&breaker, &idle);
	CHECK(breaker_trip(&breaker));
}

static void five_equal_errors_trip_it(void)
{
	struct breaker breaker = { 0 };
	struct breaker_facts other = wrong;

	for (int i = 0; i < 4; i++)
		breaker_note(&breaker, &wrong);
	CHECK(!breaker_trip(&breaker));
	other.signature = 8;
	breaker_note(&breaker, &other);
	CHECK(breaker.same_error == 1);
	for (int i = 0; i < 4; i++)
		breaker_note(&breaker, &other);
	CHECK(breaker_trip(&breaker));
	breaker_note(&breaker, &changed);
	CHECK(!breaker_trip(&breaker));
}

static void signs_of_struggle_are_said(void)
{
	struct breaker breaker = { 0 };
	char text[256];

	breaker_struggle(&breaker, text, sizeof(text));
	CHECK(!text[0]);
	for (int i = 0; i < 3; i++)
		breaker_note(&breaker, &brief);
	breaker_struggle(&breaker, text, sizeof(text));
	CHECK(strstr(text, "30 seconds"));
	breaker_note(&breaker, &wrong);
	breaker_note(&breaker, &wrong);
	breaker_struggle(&breaker, text, sizeof(text));
	CHECK(strstr(text, "same error came 2") && !strstr(text, "30 sec"));
	breaker_note(&breaker, &idle);
	breaker_note(&breaker, &idle);
	breaker_struggle(&breaker, text, sizeof(text));
	CHECK(strstr(text, "nothing changed in the last 2"));
}

static void waits_double_to_a_bound(void)
{
	CHECK(breaker_backoff(5, 0, 0) == 5);
	CHECK(breaker_backoff(5, 3, 0) == 40);
	CHECK(breaker_backoff(5, 60, 0) == 600);
	CHECK(breaker_backoff(5, 0, 90) == 90);
	CHECK(breaker_backoff(0, 60, 0) == 0);
}

int main(void)
{
	RUN(three_idle_turns_trip_it);
	RUN(five_equal_errors_trip_it);
	RUN(signs_of_struggle_are_said);
	RUN(waits_double_to_a_bound);
	return DONE();
}
