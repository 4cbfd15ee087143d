/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - PID 1 of the guest: boots the machine, then serves the supervisor
 *
 * Sources of the loop: the control port; signals (SIGCHLD); for each session
 * its report pipe, its output and error pipes or its terminal, and its input
 * while the program does not take it. Timers: tidy (cgroups), retry (a
 * terminal without a program), settle (files that the host has not yet),
 * reconnect (the port), power off.
 *
 * The kernel never chooses the global init for an out-of-memory kill, and
 * sessions live below a limit that leaves it room; so oom_score_adj is left
 * alone, and need not be reset in every child.
 *
 * The binary is the initramfs's /init, which is deleted once it runs; it stays
 * reachable as /proc/self/exe (of PID 1: /proc/1/exe) for processes that are
 * to run the same code.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "guest/agent_user.h"
#include "guest/guest.h"
#include "guest/kernel_args.h"
#include "guest/mcp_stdio.h"
#include "guest/modules.h"
#include "guest/power.h"
#include "guest/ralph.h"
#include "guest/rootfs.h"
#include "guest/runtime.h"
#include "guest/sysfile.h"
#include "guest/tool.h"
#include "guest/trust.h"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
#define DEVICE_WAIT_MS 20000
#define ROOTS "/ca-certificates.crt"
#define ROOTS_MAX (4u << 20)

/* 0, 1, 2 are /dev/null: what a session does not ask for, it inherits. */
static void open_stdio(void)
{
	int console = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (console >= 0 && console <= STDERR_FILENO)
		console = fcntl(console, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	log_to(console);
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

static struct kernel_args read_kernel_args(void)
{
	char text[4096];
	ssize_t len =
		sysfile_read(AT_FDCWD, "/proc/cmdline", text, sizeof(text));

	return kernel_args_parse(text, len > 0 ? (size_t)len : 0);
}

static void set_sysctls(void)
{
	static const char *const rows[][2] = {
		/* Only what stops the machine reaches the console. */
		{ "/proc/sys/kernel/printk", "2 4 1 7" },
		/* The agent serves port 80 as well as 8080. */
		{ "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0" },
		/* What containers send is rejected, not lost. */
		{ "/proc/sys/net/ipv4/ip_forward", "1" },
		/* All connections are local: what the relay has at once fits.
		 */
		{ "/proc/sys/net/ipv4/tcp_rmem", "4096 1048576 6291456" },
		{ "/proc/sys/net/ipv4/tcp_wmem", "4096 1048576 4194304" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (sysfile_write(AT_FDCWD, rows[i][0], rows[i][1]))
			log_debug("%s: %s", rows[i][0], strerror(errno));
	}
}

static void loopback_up(void)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo",
				 .ifr_flags = IFF_UP | IFF_RUNNING };

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		log_warn("interface lo: %s", strerror(errno));
}

/* Sessions inherit them; the soft limit is one that select() survives. */
static void set_limits(void)
{
	struct rlimit files = { .rlim_cur = 8192, .rlim_max = 524288 };

	if (setrlimit(RLIMIT_NOFILE, &files))
		log_debug("limit of files: %s", strerror(errno));
}

/* Nothing that answers the host may wait for memory or a page of a file. */
static void stay_in_memory(void)
{
	if (mlockall(MCL_CURRENT) || mlockall(MCL_FUTURE | MCL_ONFAULT))
		log_debug("mlockall: %s", strerror(errno));
}

/* The initramfs is out of sight once the root has changed. */
static void take_roots(struct buffer *roots)
{
	struct error err;

	if (fileio_read(AT_FDCWD, ROOTS, roots, &err) < 0)
		log_debug("%s", err.text);
	unlink(ROOTS);
}

static int boot_machine(struct kernel_args *args, struct error *err)
{
	AUTO_BUFFER struct buffer roots = BUFFER_INIT(ROOTS_MAX);

	if (rootfs_mount_early(err))
		return -1;
	open_stdio();
	*args = read_kernel_args();
	if (args->debug)
		log_level_set(LOG_LEVEL_DEBUG);
	set_sysctls();
	modules_load();
	if (rootfs_mount_disk(DEVICE_WAIT_MS, err))
		return -1;
	take_roots(&roots);
	if (rootfs_switch(err) || rootfs_mount_late(err))
		return -1;
	trust_provide("", roots.data, roots.len);
	trust_java_prepare("");
	ralph_install();
	return 0;
}

static int serve(struct guest *guest, struct error *err)
{
	struct kernel_args args;
	int port;

	if (boot_machine(&args, err))
		return -1;
	set_limits();
	loopback_up();
	if (cgroups_setup(&guest->cgroups, err))
		return -1;
	if (identity_open(&guest->identity, err))
		return error_prefix(err, "identity");
	agent_user_ensure();
	port = port_find(PORT_NAME, DEVICE_WAIT_MS, err);
	if (port < 0)
		return -1;
	guest->prime = args.prime;
	stay_in_memory();
	return guest_run(guest, port, err);
}

int main(int argc, char **argv)
{
	static struct guest guest;
	struct error err;

	log_identity("bawn-init", NULL);
	if (getpid() != 1 && runtime_is_called(argv[0]))
		runtime_run(argv);
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("bawn-init " BAWN_VERSION);
		return 0;
	}
	if (getpid() != 1 && mcp_stdio_is_meant(argv[0]))
		return mcp_stdio_run(argc, argv);
	if (getpid() != 1)
		return ralph_is_meant(argv[0]) ? ralph_run(argc, argv)
					       : tool_run(argc, argv);
	umask(022);
	serve(&guest, &err);
	log_error("%s", err.text);
	power_off();
}
