/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - one line for each fact, with the process that says it
 *
 * "bawn-supervisor[name]: text". errno is preserved. Whatever a guest can
 * trigger uses log_limited(), so that it cannot fill a disk. Never secrets.
 */
#pragma once

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_TRACE,

	LOG_LEVELS,
};

/* process and sandbox (may be NULL) are copied. The default sink is fd 2. */
void log_identity(const char *process, const char *sandbox);
void log_level_set(enum log_level level);
bool log_enabled(enum log_level level);
/* fd is borrowed; it should be O_APPEND. */
void log_to(int fd);
/*
 * So many bytes, then the file is emptied and begun again: what a guest can
 * trigger once a second fills a disk within a year. 0 is no bound.
 */
void log_max(unsigned long bytes);
/* Prefix each line with an RFC 3339 time: for files, not for terminals. */
void log_timestamps(bool on);

void log_write(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_trace(...) log_write(LOG_LEVEL_TRACE, __VA_ARGS__)

struct log_limit {
	long long window_start_ms;
	unsigned written;
	unsigned suppressed;
};

/* True at most 10 times in 10 s for each place; counts the rest. */
bool log_allowed(struct log_limit *limit);

#define log_limited(level, ...)                        \
	do {                                           \
		static struct log_limit limit_;        \
		if (log_allowed(&limit_))              \
			log_write(level, __VA_ARGS__); \
	} while (0)
