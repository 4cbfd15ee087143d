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

/* As the agents of today say it. */
static void their_own_words_are_understood(void)
{
	CHECK(of("Failed to authenticate. API Error: 401 invalid api key") ==
	      FAULT_AUTH);
	CHECK(of("unexpected status 401 Unauthorized: invalid api key, url: "
		 "http://h:35275/v1/responses") == FAULT_AUTH);
	CHECK(of("Authentication failed with provider at h (HTTP 401).") ==
	      FAULT_AUTH);
	CHECK(of("API Error: Request rejected (429) \xc2\xb7 Number of "
		 "requests has exceeded your rate limit") == FAULT_RATE);
	CHECK(of("unexpected status 529 <unknown status code>: Overloaded") ==
	      FAULT_RATE);
	CHECK(of("API Error: Connection refused \xe2\x80\x94 a firewall or "
		 "proxy may be blocking it (ECONNREFUSED)") == FAULT_NETWORK);
	CHECK(of("Reconnecting... waiting for network (Connection failed: "
		 "error sending request)") == FAULT_NETWORK);
}

static void a_status_says_it_too(void)
{
	CHECK(fault_of_status(401) == FAULT_AUTH);
	CHECK(fault_of_status(429) == FAULT_RATE);
	CHECK(fault_of_status(529) == FAULT_RATE);
	CHECK(fault_of_status(500) == FAULT_NETWORK);
	CHECK(fault_of_status(503) == FAULT_NETWORK);
	/* the gate's own refusal is no bad key */
	CHECK(fault_of_status(403) == FAULT_OTHER);
	CHECK(fault_of_status(0) == FAULT_OTHER);
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
	RUN(their_own_words_are_understood);
	RUN(a_status_says_it_too);
	RUN(the_time_to_wait_is_read);
	RUN(numbers_make_no_other_error);
	return DONE();
}
