/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - numbers of the guest
 */
#pragma once

#include "guest/slice.h"

struct message_stats;

/* "MemTotal:   123 kB" lines; what is missing stays as it was. Pure. */
void stats_parse_meminfo(struct slice text, struct message_stats *stats);
/* The "cpu ..." line of /proc/stat; ticks are 1/100 s in every kernel. Pure. */
void stats_parse_cpu(struct slice text, struct message_stats *stats);

/* cgroup_fd: folder whose tasks count as processes. */
void stats_collect(int cgroup_fd, struct message_stats *stats);
