/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_pattern.h - one pattern of a path, matched component by component
 *
 * `*` and `?` stay inside a component, `[a-z]` is a set, `**` is any number of
 * components. Letters match in either case (ASCII), because the host's file
 * system may fold them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_PATTERN_PARTS_MAX 64

struct path_pattern {
	char *text; /* owned; components, each ended by NUL */
	const char *parts[PATH_PATTERN_PARTS_MAX];
	size_t part_count;
};

/*
 * 1; 0 when it names nothing; -1 when it is too deep. anywhere: at any depth,
 * not only from the root.
 */
int path_pattern_parse(struct path_pattern *pattern, const char *text,
		       size_t len, bool anywhere);
void path_pattern_release(struct path_pattern *pattern);

/* After some components: bit n = the first n parts are used up. */
uint64_t path_pattern_start(const struct path_pattern *pattern);
uint64_t path_pattern_step(const struct path_pattern *pattern, uint64_t state,
			   const char *name, size_t len);
uint64_t path_pattern_walk(const struct path_pattern *pattern, const char *path,
			   size_t len);
bool path_pattern_is_complete(const struct path_pattern *pattern,
			      uint64_t state);
/* Where this lies, and not only what is beneath it, decides about that. */
bool path_pattern_is_inside(const struct path_pattern *pattern, uint64_t state);
