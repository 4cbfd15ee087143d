/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - what a sandbox takes of the host, as the host sees it
 */
#include "cli/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/net_log.h"
#include "cli/store.h"

#define BLOCK 512u
#define PROC_BYTES 1024

static void count_line(void *ctx, const char *text, size_t len)
{
	struct usage *usage = ctx;
	struct net_log_entry entry;

	if (net_log_decode(text, len, &entry) < 0)
		return;
	usage->net_in += entry.bytes_in;
	usage->net_out += entry.bytes_out;
	net_log_release(&entry);
}

void usage_init(struct usage *usage)
{
	*usage = (struct usage){ 0 };
	tail_file_init(&usage->net_log, NET_LOG_FILE, count_line, usage);
}

void usage_release(struct usage *usage)
{
	tail_file_release(&usage->net_log);
}

int usage_parse_stat(const char *text, size_t len, long ticks, uint64_t *cpu_ms)
{
	/* The name is in brackets and may hold brackets and blanks. */
	const char *end = memrchr(text, ')', len);
	unsigned long long user, system;
	char rest[PROC_BYTES];

	if (!end || ticks <= 0 ||
	    text_format(rest, sizeof(rest), "%.*s",
			(int)(len - (size_t)(end + 1 - text)), end + 1) < 0)
		return -1;
	if (sscanf(rest,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
		   &user, &system) != 2)
		return -1;
	*cpu_ms = (user + system) * 1000 / (unsigned long)ticks;
	return 0;
}

int usage_parse_statm(const char *text, size_t len, long page, uint64_t *bytes)
{
	unsigned long long resident, shared;
	char copy[PROC_BYTES];

	if (page <= 0 ||
	    text_format(copy, sizeof(copy), "%.*s", (int)len, text) < 0 ||
	    sscanf(copy, "%*u %llu %llu", &resident, &shared) != 2 ||
	    shared > resident)
		return -1;
	*bytes = (resident - shared) * (unsigned long)page;
	return 0;
}

static ssize_t read_proc(pid_t pid, const char *name, char text[PROC_BYTES])
{
	char path[64];
	AUTO_CLOSE int fd = -1;

	text_format(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, text, PROC_BYTES);
}

static void read_machine(struct usage *usage, pid_t pid)
{
	char text[PROC_BYTES];
	ssize_t len = read_proc(pid, "stat", text);

	if (len > 0)
		usage_parse_stat(text, (size_t)len, sysconf(_SC_CLK_TCK),
				 &usage->cpu_ms);
	len = read_proc(pid, "statm", text);
	if (len > 0)
		usage_parse_statm(text, (size_t)len, sysconf(_SC_PAGESIZE),
				  &usage->memory_bytes);
}

void usage_read(struct usage *usage, const struct sandbox *sandbox,
		const struct sandbox_state *state)
{
	AUTO_CLOSE int net = net_log_open(sandbox);
	struct stat st;

	usage->memory_bytes = 0;
	if (state->status == SANDBOX_STATUS_RUNNING && state->qemu_pid > 0)
		read_machine(usage, state->qemu_pid);
	if (fstatat(sandbox->folder, STORE_DISK_FILE, &st,
		    AT_SYMLINK_NOFOLLOW) == 0)
		usage->disk_bytes = (uint64_t)st.st_blocks * BLOCK;
	if (net >= 0)
		tail_read(net, &usage->net_log);
}
