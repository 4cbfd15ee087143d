/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.c - what QEMU's `info registers` says of an x86 CPU
 */
#include "supervisor/registers.h"

#include <string.h>

#define DIGITS_MAX 16

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* NAME= and 1 to 16 hexadecimal digits: the first place that has them. */
static int find(const char *text, size_t len, const char *name, uint64_t *value)
{
	size_t name_len = strlen(name), i = 0;
	const char *at = memmem(text, len, name, name_len);

	if (!at)
		return -1;
	at += name_len;
	len -= (size_t)(at - text);
	*value = 0;
	while (i < len && i < DIGITS_MAX && digit_of(at[i]) >= 0)
		*value = *value << 4 | (unsigned)digit_of(at[i++]);
	return i > 0 ? 0 : -1;
}

int registers_parse(const char *text, size_t len, struct registers *registers)
{
	uint64_t cpl, halted;

	/* In 64-bit mode RIP, else EIP. */
	if (find(text, len, "IP=", &registers->ip) < 0 ||
	    find(text, len, "CPL=", &cpl) < 0 || cpl > 3 ||
	    find(text, len, "HLT=", &halted) < 0 || halted > 1)
		return -1;
	registers->cpl = (unsigned)cpl;
	registers->halted = halted == 1;
	return 0;
}
