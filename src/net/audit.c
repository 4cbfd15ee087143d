/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.c - one JSON line for each decision
 */
#include "net/audit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "net/decision.h"
#include "net/json_line.h"
#include "net/target.h"

#define PENDING_BYTES (64u * 1024)
#define LINE_BYTES (8u * 1024)
#define PATH_BYTES 2048u /* of a path; a longer one is cut */

static const char *const protocols[] = {
	[AUDIT_TCP] = "tcp",
	[AUDIT_TLS] = "tls",
	[AUDIT_HTTP] = "http",
	[AUDIT_HTTPS] = "https",
	[AUDIT_DNS] = "dns",
	[AUDIT_SOCKET] = "socket",
	[AUDIT_PUBLISHED] = "published",
};
static_assert(ARRAY_SIZE(protocols) == AUDIT_PROTOCOLS, "a name for each");

static const char *const verdicts[] = {
	[AUDIT_ALLOW] = "allow",
	[AUDIT_DENY] = "deny",
	[AUDIT_ASK] = "ask",
};
static_assert(ARRAY_SIZE(verdicts) == AUDIT_VERDICTS, "a name for each");

const char *audit_protocol_name(enum audit_protocol protocol)
{
	return protocols[protocol];
}

int audit_open(struct audit *audit, int fd, const char *sandbox,
	       struct error *err)
{
	struct stat st;

	*audit = (struct audit){ .fd = fd, .sandbox = sandbox, .second = -1 };
	/* Also gmtime_r() reads the time zone, once, from a file. */
	tzset();
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "log");
	audit->file_bytes = (uint64_t)st.st_size;
	audit->pending = xmalloc(PENDING_BYTES);
	return 0;
}

void audit_release(struct audit *audit)
{
	free(audit->pending);
	*audit = (struct audit){ .fd = -1 };
}

static void flush_now(struct audit *audit)
{
	size_t done = 0;

	/* A line that was cut by a full disk must not join the next one. */
	if (audit->torn && write(audit->fd, "\n", 1) == 1)
		audit->torn = false;
	while (done < audit->pending_len && !audit->torn) {
		ssize_t n = write(audit->fd, audit->pending + done,
				  audit->pending_len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done)
		audit->torn = audit->pending[done - 1] != '\n';
	for (size_t i = done; i < audit->pending_len; i++)
		audit->lost += audit->pending[i] == '\n';
	audit->file_bytes += done;
	audit->pending_len = 0;
}

static void ask_for_another(struct audit *audit)
{
	if (audit->asked || audit->file_bytes < AUDIT_ROTATE_BYTES)
		return;
	audit->asked = true;
	if (audit->on_full)
		audit->on_full(audit->ctx);
}

void audit_flush(struct audit *audit)
{
	if (!audit->pending_len)
		return;
	flush_now(audit);
	ask_for_another(audit);
}

void audit_use(struct audit *audit, int fd)
{
	struct stat st;

	if (audit->fd >= 0)
		flush_now(audit);
	else
		audit->pending = xmalloc(PENDING_BYTES);
	audit->fd = fd;
	audit->file_bytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	audit->asked = false;
	if (audit->lost)
		log_warn("%llu lines of the log were lost",
			 (unsigned long long)audit->lost);
	audit->lost = 0;
}

/* "2026-01-02T03:04:05.678Z" */
static void put_time(struct audit *audit, struct json_line *line)
{
	char text[40];
	struct timespec now = { 0 };
	struct tm parts;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec != audit->second) {
		audit->second = now.tv_sec;
		gmtime_r(&now.tv_sec, &parts);
		(void)strftime(audit->stamp, sizeof(audit->stamp),
			       "%Y-%m-%dT%H:%M:%S", &parts);
	}
	(void)text_format(text, sizeof(text), "%s.%03ldZ", audit->stamp,
			  now.tv_nsec / 1000000);
	json_line_text(line, "time", text);
}

static void put_where(struct json_line *line, const struct audit_record *record)
{
	const struct target *target = record->target;
	const char *name = target ? target->name : record->name;
	struct address address = record->address;
	uint16_t port = target ? target->port : record->port;
	char text[ADDRESS_TEXT_SIZE];

	if (name)
		json_line_text(line, "name", name);
	else
		json_line_null(line, "name");
	if (!address.family && target)
		address = target->address;
	if (address.family) {
		address_format(&address, text);
		json_line_text(line, "address", text);
	} else {
		json_line_null(line, "address");
	}
	if (port)
		json_line_number(line, "port", port);
	json_line_text(line, "protocol", protocols[record->protocol]);
}

static void put_request(struct json_line *line,
			const struct audit_record *record)
{
	size_t len =
		record->path_len < PATH_BYTES ? record->path_len : PATH_BYTES;

	json_line_text(line, "method", record->method);
	if (record->path)
		json_line_bytes(line, "path", record->path, len);
	if (record->query)
		json_line_bytes(line, "query", record->query,
				strnlen(record->query, PATH_BYTES));
	if (record->status)
		json_line_number(line, "status", record->status);
}

static void put_verdict(struct json_line *line,
			const struct audit_record *record)
{
	const struct decision *decision = record->decision;

	json_line_text(line, "verdict", verdicts[record->verdict]);
	/* A rule that allows is not why something else was wrong. */
	if (decision && decision->rule &&
	    (record->verdict != AUDIT_DENY ||
	     decision->answer == POLICY_DENY)) {
		json_line_text(line, "rule", decision->rule);
		json_line_text(line, "scope",
			       policy_scope_name(decision->scope));
	}
	json_line_text(line, "reason", record->reason);
}

void audit_write(struct audit *audit, const struct audit_record *record)
{
	struct json_line line;

	if (audit->fd < 0)
		return;
	if (audit->file_bytes >= AUDIT_STOP_BYTES) {
		audit->lost++;
		return;
	}
	if (PENDING_BYTES - audit->pending_len < LINE_BYTES)
		flush_now(audit);
	json_line_begin(&line, audit->pending + audit->pending_len, LINE_BYTES);
	put_time(audit, &line);
	json_line_text(&line, "sandbox", audit->sandbox);
	if (record->id)
		json_line_number(&line, "id", record->id);
	put_where(&line, record);
	put_request(&line, record);
	put_verdict(&line, record);
	if (record->verdict == AUDIT_ALLOW && record->started_ms) {
		json_line_number(&line, "bytes_out", record->bytes_out);
		json_line_number(&line, "bytes_in", record->bytes_in);
		json_line_number(&line, "ms",
				 loop_now_ms() - record->started_ms);
	}
	audit->pending_len += json_line_end(&line);
}
