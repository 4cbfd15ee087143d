/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_alone.c - the files relay without PID 1 and without a machine
 *
 * usage: relay_alone new|again
 * Descriptors: 2 log, 3 the files port, 4 the socket of PID 1, 5 a memory file
 * that is handed from one relay to the next; 6 and 7, if they are there, are
 * the memory of bulk.h, to the guest and from it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/gate.h"
#include "guest/pci_memory.h"
#include "guest/relay.h"
#include "proto/bulk.h"

#define TO_GUEST_FD 6
#define FROM_GUEST_FD 7

static void *to_guest, *from_guest;

static void *map(int fd, int rights)
{
	void *mapped = mmap(NULL, BULK_BYTES, rights, MAP_SHARED, fd, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* In the place of devices: what was mapped before the relay closed it. */
void *pci_memory_map(unsigned device, size_t size, int rights)
{
	return device == BULK_TO_GUEST_DEVICE ? to_guest : from_guest;
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
	to_guest = map(TO_GUEST_FD, PROT_READ);
	from_guest = map(FROM_GUEST_FD, PROT_READ | PROT_WRITE);
	relay_run(&start);
}
