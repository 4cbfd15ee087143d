/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_audit.c - lines of the log
 */
#include "net/audit.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "lib/tap.h"
#include "net/decision.h"
#include "net/target.h"

static struct audit audit;
static int fd;
static int full_calls;
static char text[1 << 16];

static void begin(void)
{
	struct error err = { 0 };

	fd = memfd_create("log", MFD_CLOEXEC);
	CHECK(audit_open(&audit, fd, "box", &err) == 0);
}

static void end(void)
{
	audit_release(&audit);
	close(fd);
}

static const char *content(void)
{
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static const char *string_of(json_t *json, const char *key)
{
	const char *value = json_string_value(json_object_get(json, key));

	return value ? value : "";
}

static void a_line_says_what_happened(void)
{
	struct target target = { .name = (char *)(uintptr_t) "a.example",
				 .port = 443 };
	struct decision decision = { .rule = (char *)(uintptr_t) "allow x",
				     .scope = POLICY_GLOBAL };
	struct audit_record record = {
		.id = 7,
		.target = &target,
		.address = { ADDRESS_V4, { 203, 0, 113, 9 } },
		.protocol = AUDIT_HTTP,
		.verdict = AUDIT_ALLOW,
		.method = "GET",
		.path = "/a\"?no",
		.path_len = 3,
		.status = 200,
		.decision = &decision,
		.bytes_out = 5,
		.bytes_in = 6,
		.started_ms = loop_now_ms(),
	};
	json_t *json;

	begin();
	audit_write(&audit, &record);
	CHECK(!content()[0]); /* until the end of the round */
	audit_flush(&audit);
	json = json_loads(content(), JSON_REJECT_DUPLICATES, NULL);
	REQUIRE(json);
	CHECK(!strcmp(string_of(json, "name"), "a.example"));
	CHECK(!strcmp(string_of(json, "address"), "203.0.113.9"));
	CHECK(!strcmp(string_of(json, "path"), "/a\""));
	CHECK(!strcmp(string_of(json, "rule"), "allow x"));
	CHECK(!strcmp(string_of(json, "scope"), "global"));
	CHECK(!strcmp(string_of(json, "sandbox"), "box"));
	CHECK(strlen(string_of(json, "time")) == 24);
	CHECK(json_integer_value(json_object_get(json, "bytes_in")) == 6);
	CHECK(json_integer_value(json_object_get(json, "port")) == 443);
	json_decref(json);
	end();
}

static void a_refusal_has_no_bytes(void)
{
	const struct audit_record record = { .name = "x.example",
					     .protocol = AUDIT_DNS,
					     .verdict = AUDIT_DENY,
					     .reason = "why" };

	begin();
	audit_write(&audit, &record);
	audit_flush(&audit);
	CHECK(strstr(content(), "\"verdict\":\"deny\",\"reason\":\"why\"}\n"));
	CHECK(strstr(content(), "\"address\":null"));
	end();
}

static void on_full(void *ctx)
{
	full_calls++;
}

static void a_large_file_is_reported_once(void)
{
	const struct audit_record record = { .name = "x.example" };
	int next = memfd_create("next", MFD_CLOEXEC);

	begin();
	audit.on_full = on_full;
	audit.file_bytes = AUDIT_ROTATE_BYTES - 1;
	for (int i = 0; i < 3; i++) {
		audit_write(&audit, &record);
		audit_flush(&audit);
	}
	CHECK(full_calls == 1);
	audit_write(&audit, &record);
	audit_use(&audit, next);
	CHECK(audit.file_bytes == 0 && !audit.asked);
	/* What was pending belongs to the old one. */
	CHECK(strlen(content()) > 0 && lseek(next, 0, SEEK_END) == 0);
	audit_write(&audit, &record);
	audit_flush(&audit);
	CHECK(lseek(next, 0, SEEK_END) > 0);
	close(next);
	end();
}

static void nobody_rotates_and_it_stops_growing(void)
{
	const struct audit_record record = { .name = "x.example" };

	begin();
	audit.file_bytes = AUDIT_STOP_BYTES;
	audit_write(&audit, &record);
	audit_flush(&audit);
	CHECK(!content()[0] && audit.lost == 1);
	end();
}

static void a_full_disk_costs_lines_and_tears_none_together(void)
{
	const struct audit_record record = { .name = "x.example" };
	struct rlimit before, small = { 50, RLIM_INFINITY };
	const char *second;

	signal(SIGXFSZ, SIG_IGN);
	begin();
	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	small.rlim_max = before.rlim_max;
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	audit_write(&audit, &record);
	audit_flush(&audit);
	audit_write(&audit, &record);
	audit_flush(&audit);
	CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK(audit.lost == 2);
	audit_write(&audit, &record);
	audit_flush(&audit);
	second = strchr(content(), '\n');
	CHECK(second && second[1] == '{' && strchr(second + 1, '\n'));
	end();
}

static void a_round_may_have_more_lines_than_the_buffer(void)
{
	const struct audit_record record = { .name = "x.example" };
	unsigned lines = 0;

	begin();
	for (int i = 0; i < 400; i++)
		audit_write(&audit, &record);
	audit_flush(&audit);
	for (const char *at = content(); (at = strchr(at, '\n')); at++)
		lines++;
	CHECK(lines == 400);
	end();
}

int main(void)
{
	RUN(a_line_says_what_happened);
	RUN(a_refusal_has_no_bytes);
	RUN(a_large_file_is_reported_once);
	RUN(nobody_rotates_and_it_stops_growing);
	RUN(a_full_disk_costs_lines_and_tears_none_together);
	RUN(a_round_may_have_more_lines_than_the_buffer);
	return DONE();
}
