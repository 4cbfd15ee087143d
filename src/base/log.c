/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - one line for each fact, with the process that says it
 *
 * A line is one write() to an O_APPEND descriptor, so that the lines of
 * several processes never mix. The text goes through text_printable(): a
 * peer's words in an argument cannot forge a second line.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

enum {
	TEXT_MAX = 2048,
	LIMIT_LINES = 10,
	LIMIT_WINDOW_MS = 10 * 1000,
};

static struct {
	enum log_level level;
	int fd;
	bool timestamps;
	unsigned long written, max;
	char identity[128];
} sink = { .level = LOG_LEVEL_INFO, .fd = STDERR_FILENO };

void log_identity(const char *process, const char *sandbox)
{
	if (sandbox)
		(void)text_format(sink.identity, sizeof(sink.identity),
				  "%s[%s]: ", process, sandbox);
	else
		(void)text_format(sink.identity, sizeof(sink.identity),
				  "%s: ", process);
}

void log_level_set(enum log_level level)
{
	sink.level = level;
}

bool log_enabled(enum log_level level)
{
	return level <= sink.level;
}

void log_to(int fd)
{
	sink.fd = fd;
}

void log_max(unsigned long bytes)
{
	sink.max = bytes;
	sink.written = 0;
}

void log_timestamps(bool on)
{
	sink.timestamps = on;
}

/* "2024-05-01T12:00:00.123Z " in UTC: needs no time zone files. */
static void format_time(char *dst, size_t size)
{
	struct timespec now;
	struct tm parts;
	char seconds[32];

	dst[0] = '\0';
	if (clock_gettime(CLOCK_REALTIME, &now) < 0 ||
	    !gmtime_r(&now.tv_sec, &parts) ||
	    !strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts))
		return;
	(void)text_format(dst, size, "%s.%03ldZ ", seconds,
			  now.tv_nsec / 1000000);
}

void log_write(enum log_level level, const char *fmt, ...)
{
	static const char *const words[] = {
		[LOG_LEVEL_ERROR] = "error: ", [LOG_LEVEL_WARN] = "warning: ",
		[LOG_LEVEL_INFO] = "",         [LOG_LEVEL_DEBUG] = "debug: ",
		[LOG_LEVEL_TRACE] = "trace: ",
	};
	_Static_assert(sizeof(words) / sizeof(words[0]) == LOG_LEVELS,
		       "each level has a word");
	char text[TEXT_MAX], clean[TEXT_MAX];
	char line[TEXT_MAX + 256], when[64] = "";
	int saved_errno = errno;
	va_list args;
	size_t len;
	ssize_t ignored;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		text[0] = '\0';
	va_end(args);
	text_printable(text, strlen(text), clean, sizeof(clean));
	if (sink.timestamps)
		format_time(when, sizeof(when));
	(void)text_format(line, sizeof(line) - 1, "%s%s%s%s", when,
			  sink.identity, words[level], clean);
	len = strlen(line);
	line[len++] = '\n';
	sink.written += len;
	if (sink.max && sink.written > sink.max) {
		sink.written = len;
		(void)!ftruncate(sink.fd, 0);
	}
	/* There is nobody to tell that telling failed. */
	ignored = write(sink.fd, line, len);
	(void)ignored;
	errno = saved_errno;
}

bool log_allowed(struct log_limit *limit)
{
	struct timespec now = { 0 };
	long long now_ms;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	now_ms = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (!limit->written ||
	    now_ms - limit->window_start_ms >= LIMIT_WINDOW_MS) {
		if (limit->suppressed)
			log_write(LOG_LEVEL_WARN,
				  "%u more lines like the next were dropped",
				  limit->suppressed);
		*limit = (struct log_limit){ .window_start_ms = now_ms };
	}
	if (limit->written >= LIMIT_LINES) {
		limit->suppressed++;
		return false;
	}
	limit->written++;
	return true;
}
