/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_requests.c - `exec`, as clients may write it
 */
#include "supervisor/requests.h"

#include "base/error.h"
#include "lib/tap.h"

static int parse(const char *text, struct session_request *request)
{
	json_t *json = json_loads(text, 0, NULL);
	struct error err = { 0 };
	int result;

	if (!json)
		return -2;
	result = requests_parse_exec(json, request, &err);
	json_decref(json);
	return result;
}

static void a_command_is_enough(void)
{
	struct session_request request;

	REQUIRE(parse("{\"op\":\"exec\",\"argv\":[\"true\"]}", &request) == 0);
	CHECK(!request.tty && !request.has_stdin && !request.detach);
	CHECK(!request.main && request.rows == 0);
	CHECK(strcmp(request.user, "") == 0);
	CHECK(strcmp(request.folder, "") == 0);
}

static void everything_can_be_asked_for(void)
{
	struct session_request request;

	REQUIRE(parse("{\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"\"],"
		      "\"env\":[\"A=\",\"B=x=y\"],\"folder\":\"/w\","
		      "\"user\":\"root\",\"tty\":true,\"rows\":65535,"
		      "\"cols\":80,\"stdin\":true,\"detach\":false,"
		      "\"main\":true}",
		      &request) == 0);
	CHECK(request.tty && request.has_stdin && request.main);
	CHECK(request.rows == 65535 && request.cols == 80);
}

static void what_makes_no_sense_is_refused(void)
{
	static const char *const bad[] = {
		"{\"op\":\"exec\"}",
		"{\"op\":\"exec\",\"argv\":[]}",
		"{\"op\":\"exec\",\"argv\":\"true\"}",
		"{\"op\":\"exec\",\"argv\":[1]}",
		"{\"op\":\"exec\",\"argv\":[\"a\"],\"env\":[\"A\"]}",
		"{\"op\":\"exec\",\"argv\":[\"a\"],\"env\":[\"=A\"]}",
		"{\"op\":\"exec\",\"argv\":[\"a\"],\"rows\":-1}",
		"{\"op\":\"exec\",\"argv\":[\"a\"],\"rows\":65536}",
		"{\"op\":\"exec\",\"argv\":[\"a\"],\"tty\":1}",
		"{\"op\":\"exec\",\"argv\":[\"a\"],\"unknown\":1}",
	};
	struct session_request request;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(parse(bad[i], &request) == -1);
}

int main(void)
{
	RUN(a_command_is_enough);
	RUN(everything_can_be_asked_for);
	RUN(what_makes_no_sense_is_refused);
	return DONE();
}
