/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.h - what QEMU's `info registers` says of an x86 CPU
 *
 * Pure: foreign text like all that QEMU says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct registers {
	uint64_t ip;
	unsigned cpl; /* 0: the guest's kernel; 3: a program */
	bool halted;  /* waits for an interrupt */
};

/* -1 when one of them is not there. */
int registers_parse(const char *text, size_t len, struct registers *registers);
