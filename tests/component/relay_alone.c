/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_alone.c - the files relay without PID 1 and without a machine
 *
 * usage: relay_alone new|again
 * Descriptors: 2 log, 3 the files port, 4 the socket of PID 1, 5 a memory file
 * that is handed from one relay to the next; 6 and 7, if they are there, are
 * the memory of bulk.h, to the guest and from it; 8 and 9 that of rings.h and
 * an eventfd in the place of its bell.
 */
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/gate.h"
#include "guest/pci_memory.h"
#include "guest/relay.h"
#include "proto/bulk.h"
#include "proto/rings.h"

#define TO_GUEST_FD 6
#define FROM_GUEST_FD 7
#define RINGS_FD 8
#define BELL_FD 9

static void *to_guest, *from_guest, *rings;
static uint32_t *pulls; /* at the bell, so far */

static void *map(int fd, size_t size, int rights)
{
	void *mapped = mmap(NULL, size, rights, MAP_SHARED, fd, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* In the place of devices: what was mapped before the relay closed it. */
void *pci_memory_map(unsigned device, size_t size, int rights)
{
	if (device == RINGS_DEVICE)
		return rings;
	return device == BULK_TO_GUEST_DEVICE ? to_guest : from_guest;
}

bool pci_bell_open(unsigned device)
{
	return true;
}

void pci_bell_ring(unsigned peer)
{
	__atomic_add_fetch(pulls, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, pulls, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The relay keeps no descriptor that it does not know: another process rings
 * for it. */
static void hang_the_bell(void)
{
	uint32_t seen = 0;
	uint64_t once = 1;

	pulls = mmap(NULL, sizeof(*pulls), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pulls == MAP_FAILED || fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint32_t now = __atomic_load_n(pulls, __ATOMIC_ACQUIRE);

		if (now == seen) {
			syscall(SYS_futex, pulls, FUTEX_WAIT, seen, NULL, NULL,
				0);
			continue;
		}
		seen = now;
		if (write(BELL_FD, &once, sizeof(once)) < 0)
			_exit(1);
	}
}

int main(int argc, char **argv)
{
	struct relay_start start = { .port_fd = 3,
				     .control_fd = 4,
				     .log_fd = 2 };

	if (argc != 2 || ftruncate(5, sizeof(*start.shared)) || gate_init())
		return 2;
	start.again = !strcmp(argv[1], "again");
	start.shared = mmap(NULL, sizeof(*start.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED, 5, 0);
	if (start.shared == MAP_FAILED)
		return 2;
	to_guest = map(TO_GUEST_FD, BULK_BYTES, PROT_READ);
	from_guest = map(FROM_GUEST_FD, BULK_BYTES, PROT_READ | PROT_WRITE);
	rings = map(RINGS_FD, RINGS_BYTES, PROT_READ | PROT_WRITE);
	if (rings)
		hang_the_bell();
	relay_run(&start);
}
