/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pci_memory.h - memory that the guest shares with one process of the host
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The memory of the PCI device with this number, for as long as the process
 * lives; rights as of mmap(). NULL: there is none of this size.
 */
void *pci_memory_map(unsigned device, size_t size, int rights);
/* The bell of such a device, the only one of this process; false: it has none.
 * Then it can be rung for a peer. */
bool pci_bell_open(unsigned device);
void pci_bell_ring(unsigned peer);
