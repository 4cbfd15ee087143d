/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - memory that the host writes and the guest reads (PROTOCOL.md §2)
 *
 * A virtio port moves 4 KiB at a time, and each wakes three threads. Large DATA
 * for the guest lies in a slot instead, and a frame of 20 bytes says so. Only
 * the host writes, and it never reads what lies there, so nothing that the
 * guest does to this memory matters to anyone else. A slot is used from the
 * frame that names it to the one that gives it back.
 */
#pragma once

#include <stdint.h>

#define SLOT_BYTES (64u * 1024)
#define SLOT_COUNT 64
#define SLOTS_DEVICE 6u                       /* on the guest's PCI bus */
#define SLOTS_BYTES (SLOT_COUNT * SLOT_BYTES) /* a PCI resource: 2^n */
#define SLOTS_ALL UINT64_MAX                  /* a set: bit n is slot n */

/* Bytes that are not worth a slot. */
#define SLOT_WORTH (8u * 1024)
