/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qmp_reply.c - lines of a monitor, good and bad
 */
#include "supervisor/qmp_reply.h"

#include "base/error.h"
#include "lib/tap.h"

static int parse(const char *line, struct qmp_reply *reply)
{
	struct error err;

	return qmp_reply_parse(line, strlen(line), reply, &err);
}

static void a_greeting_a_return_an_error_and_an_event_are_told_apart(void)
{
	struct qmp_reply reply;

	REQUIRE(parse("{\"QMP\": {\"version\": {}}}", &reply) == 0);
	CHECK(reply.kind == QMP_GREETING);
	qmp_reply_release(&reply);
	REQUIRE(parse("{\"return\": {\"a\": 1}, \"id\": 7}", &reply) == 0);
	CHECK(reply.kind == QMP_RETURN && reply.id == 7 && reply.body);
	qmp_reply_release(&reply);
	REQUIRE(parse("{\"error\": {\"class\": \"E\", \"desc\": "
		      "\"bad\\u001b[2J\"}, "
		      "\"id\": 8}",
		      &reply) == 0);
	CHECK(reply.kind == QMP_ERROR && reply.id == 8);
	CHECK(strcmp(reply.text, "bad\\x1b[2J") == 0);
	qmp_reply_release(&reply);
	REQUIRE(parse("{\"timestamp\": {}, \"event\": \"MIGRATION\", "
		      "\"data\": {\"status\": \"completed\"}}",
		      &reply) == 0);
	CHECK(reply.kind == QMP_EVENT);
	CHECK(strcmp(reply.name, "MIGRATION") == 0);
	CHECK(strcmp(qmp_reply_string(&reply, "status"), "completed") == 0);
	CHECK(strcmp(qmp_reply_string(&reply, "nothing"), "") == 0);
	qmp_reply_release(&reply);
}

static void lines_of_no_kind_are_refused(void)
{
	static const char *const lines[] = {
		"",
		"[]",
		"7",
		"{}",
		"{\"return\"}",
		"{\"return\": {}, \"id\": \"x\"}",
		"{\"return\": {}, \"id\": 0}",
		"{\"return\": {}, \"id\": -1}",
		"{\"error\": \"text\"}",
		"{\"error\": {\"class\": \"E\"}}",
		"{\"event\": 7}",
		"{\"event\": \"a\", \"event\": \"b\"}",
		"{\"event\": \"0123456789012345678901234567890123456789"
		"012345678901234567890123456789\"}",
	};
	struct qmp_reply reply;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		CHECK(parse(lines[i], &reply) < 0);
		CHECK(reply.body == NULL);
	}
}

static void a_line_without_bound_is_refused(void)
{
	size_t len = QMP_LINE_MAX + 1;
	char *line = malloc(len);
	struct qmp_reply reply;
	struct error err;

	REQUIRE(line);
	memset(line, ' ', len);
	CHECK(qmp_reply_parse(line, len, &reply, &err) < 0);
	free(line);
}

int main(void)
{
	RUN(a_greeting_a_return_an_error_and_an_event_are_told_apart);
	RUN(lines_of_no_kind_are_refused);
	RUN(a_line_without_bound_is_refused);
	return DONE();
}
