/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - numbers of the guest
 */
#include "guest/stats.h"

#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#include "guest/sysfile.h"
#include "proto/messages.h"

#define TICK_MS 10

/* First number of a text that may begin with blanks. */
static int leading_number(struct slice text, uint64_t *number)
{
	struct slice word;

	text = slice_trim(text);
	return slice_cut(&text, ' ', &word)
		       ? slice_number(word, UINT64_MAX / 1024, number)
		       : -1;
}

void stats_parse_meminfo(struct slice text, struct message_stats *stats)
{
	struct slice line, key;
	uint64_t kib;

	while (slice_line(&text, &line)) {
		if (!slice_cut(&line, ':', &key) || !line.start ||
		    leading_number(line, &kib))
			continue;
		if (slice_equals(key, "MemTotal"))
			stats->memory_total_bytes = kib * 1024;
		else if (slice_equals(key, "MemAvailable"))
			stats->memory_available_bytes = kib * 1024;
	}
}

void stats_parse_cpu(struct slice text, struct message_stats *stats)
{
	/* user nice system idle iowait irq softirq steal */
	static const bool busy[] = { true,  true, true, false,
				     false, true, true, true };
	struct slice line, word;
	uint64_t ticks, sum = 0;
	size_t column = 0;

	if (!slice_line(&text, &line) || !slice_cut(&line, ' ', &word) ||
	    !slice_equals(word, "cpu"))
		return;
	while (column < sizeof(busy) && slice_cut(&line, ' ', &word)) {
		if (!word.len)
			continue;
		if (slice_number(word, UINT64_MAX / 1024, &ticks))
			return;
		if (busy[column++])
			sum += ticks;
	}
	stats->cpu_busy_ms = sum * TICK_MS;
}

void stats_collect(int cgroup_fd, struct message_stats *stats)
{
	struct statvfs root;
	char text[8192];
	uint64_t count;
	ssize_t len;

	memset(stats, 0, sizeof(*stats));
	len = sysfile_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text));
	if (len > 0)
		stats_parse_meminfo(slice_of(text), stats);
	len = sysfile_read(AT_FDCWD, "/proc/stat", text, sizeof(text));
	if (len > 0)
		stats_parse_cpu(slice_of(text), stats);
	len = sysfile_read(cgroup_fd, "pids.current", text, sizeof(text));
	if (len > 1 && !slice_number((struct slice){ text, (size_t)len - 1 },
				     UINT32_MAX, &count))
		stats->processes = (uint32_t)count;
	if (statvfs("/", &root) == 0) {
		stats->disk_total_bytes =
			(uint64_t)root.f_blocks * root.f_frsize;
		stats->disk_free_bytes =
			(uint64_t)root.f_bavail * root.f_frsize;
	}
}
