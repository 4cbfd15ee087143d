/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap.h - unit tests in TAP: RUN(a_sentence), CHECK(expression), DONE()
 *
 * Output is flushed for each test: LeakSanitizer ends the process without
 * flushing, and a report without its test's name helps nobody.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_tests, tap_failed_tests, tap_test_bad;

#define CHECK(expression)                                           \
	do {                                                        \
		if (!(expression)) {                                \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, \
			       #expression);                        \
			tap_test_bad = 1;                           \
		}                                                   \
	} while (0)

/* For what the rest of the test cannot do without. */
#define REQUIRE(expression)                                         \
	do {                                                        \
		if (!(expression)) {                                \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, \
			       #expression);                        \
			tap_test_bad = 1;                           \
			return;                                     \
		}                                                   \
	} while (0)

#define RUN(test)                                                    \
	do {                                                         \
		tap_test_bad = 0;                                    \
		test();                                              \
		tap_tests++;                                         \
		tap_failed_tests += tap_test_bad;                    \
		printf("%sok %d - %s\n", tap_test_bad ? "not " : "", \
		       tap_tests, #test);                            \
		fflush(stdout);                                      \
	} while (0)

/* A skipped test says why. */
#define SKIP(test, why)                                                    \
	do {                                                               \
		printf("ok %d - %s # SKIP %s\n", ++tap_tests, #test, why); \
		fflush(stdout);                                            \
	} while (0)

#define DONE() \
	(printf("1..%d\n", tap_tests), fflush(stdout), tap_failed_tests != 0)
