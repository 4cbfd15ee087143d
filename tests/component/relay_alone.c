/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_alone.c - the files relay without PID 1 and without a machine
 *
 * usage: relay_alone new|again
 * Descriptors: 2 log, 3 the files port, 4 the socket of PID 1, 5 a memory file
 * that is handed from one relay to the next.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/gate.h"
#include "guest/relay.h"

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
	relay_run(&start);
}
