/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay_alone.c - the net relay without PID 1 and without a machine
 *
 * In a network namespace with an interface bawn0. Sets the rules, opens the
 * listening sockets, starts the relay and starts it again when it is killed,
 * as PID 1 does. Descriptors: 0 ends it, 1 gets the pid of each relay, 2 log,
 * 3 the network port; 32 bytes on 0 are a marker, as PREPARE's, and the pid
 * once more says that it is known. 4, if it is there, is the memory of slots.h.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "guest/net_link.h"
#include "guest/net_relay.h"
#include "guest/net_rules.h"
#include "guest/pci_memory.h"
#include "proto/slots.h"

#define SLOTS_FD 4

/* In the place of a device: descriptor 4, where there is one. */
void *pci_memory_map(unsigned device, size_t size, int rights)
{
	static void *memory;
	void *mapped;

	if (memory)
		return memory;
	mapped = mmap(NULL, size, rights, MAP_SHARED, SLOTS_FD, 0);
	if (mapped != MAP_FAILED)
		memory = mapped;
	return memory;
}

static void tell(pid_t pid)
{
	printf("%d\n", (int)pid);
	fflush(stdout);
}

static pid_t start(struct net_relay_start *relay)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		net_relay_run(relay);
	}
	tell(pid);
	relay->again = true;
	return pid;
}

/* Until the relay is dead (true) or nobody wants it any more. */
static bool serve(pid_t pid, struct net_shared *shared)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wait[2] = { { .fd = 0, .events = POLLIN },
				  { .fd = pidfd, .events = POLLIN } };
	uint8_t marker[NET_MARKER_BYTES];

	while (poll(wait, 2, -1) >= 0 && !wait[1].revents) {
		if (!wait[0].revents)
			continue;
		if (read(0, marker, sizeof(marker)) != sizeof(marker)) {
			kill(pid, SIGKILL);
			return false;
		}
		memcpy(shared->markers[NET_MARKER_PREPARED], marker,
		       sizeof(marker));
		tell(pid);
	}
	close(pidfd);
	waitpid(pid, NULL, 0);
	return true;
}

int main(void)
{
	struct net_relay_start relay = { .fds = { 0 } };
	struct error err;

	for (int i = 0; i < NET_RELAY_FDS; i++)
		relay.fds[i] = -1;
	relay.fds[NET_RELAY_FD_PORT] = 3;
	relay.fds[NET_RELAY_FD_LOG] = 2;
	relay.shared = mmap(NULL, sizeof(*relay.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (relay.shared == MAP_FAILED || net_relay_listen(relay.fds)) {
		perror("listen");
		return 1;
	}
	if (net_link_setup(&err) || net_rules_set(&err)) {
		fprintf(stderr, "%s\n", err.text);
		return 77;
	}
	/* a relay closes what it does not know */
	pci_memory_map(SLOTS_DEVICE, SLOTS_BYTES, PROT_READ);
	while (serve(start(&relay), relay.shared))
		;
	return 0;
}
