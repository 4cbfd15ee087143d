/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pci_memory.h - memory that the guest shares with one process of the host
 */
#pragma once

#include <stddef.h>

/*
 * The memory of the PCI device with this number, for as long as the process
 * lives; rights as of mmap(). NULL: there is none of this size.
 */
void *pci_memory_map(unsigned device, size_t size, int rights);
