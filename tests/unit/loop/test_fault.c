/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fault.c - unit tests of loop/fault.h
 */
#include "loop/fault.h"

#include "lib/tap.h"

static enum fault of(const char *text)
{
	return fault_of_text(text, strlen(text));
}

static uint64_t retry(const char *text)
{
	return fault_retry_seconds(text, strlen(text));
}

static uint64_t sign(const char *text)
{
	return fault_signature(text, strlen(text));
}

static void what_agents_say_is_told_apart(void)
{
	CHECK(of("API Error: 401 {\"type\":\"error\"}") == FAULT_AUTH);
	CHECK(of("Invalid API key · Please run /login") == FAULT_AUTH);
	CHECK(of("exceeded retry limit, last status: 429 Too Many Requests") ==
	      FAULT_RATE);
	CHECK(of("Claude usage limit reached") == FAULT_RATE);
	CHECK(of("overloaded_error: Overloaded") == FAULT_RATE);
	CHECK(of("getaddrinfo ENOTFOUND api.test") == FAULT_NETWORK);
	CHECK(of("Connection error.") == FAULT_NETWORK);
	CHECK(of("compile error in line 14290") == FAULT_OTHER);
	CHECK(of("4010 files") == FAULT_OTHER);
	CHECK(of("") == FAULT_OTHER);
}

static void the_time_to_wait_is_read(void)
{
	CHECK(retry("Retry-After: 30") == 30);
	CHECK(retry("please try again in 5 minutes") == 300);
	CHECK(retry("try again in 2h") == 7200);
	CHECK(retry("retry in 400ms") == 0);
	CHECK(retry("retry after 99999999999999999999") == 21600);
	CHECK(retry("retry after a while") == 0);
	CHECK(retry("retry after") == 0);
	CHECK(retry("nothing") == 0);
}

static void numbers_make_no_other_error(void)
{
	CHECK(sign("line 3: oops") == sign("line 1234: oops"));
	CHECK(sign("line 3: oops") != sign("line 3: ouch"));
	CHECK(sign("") != 0);
}

int main(void)
{
	RUN(what_agents_say_is_told_apart);
	RUN(the_time_to_wait_is_read);
	RUN(numbers_make_no_other_error);
	return DONE();
}
