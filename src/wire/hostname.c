/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostname.c - one spelling for each host name
 */
#include "wire/hostname.h"

#include <string.h>

/* The byte as it is in a canonical name, or NUL when it cannot be in one. */
static char canonical_byte(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	    c == '_')
		return c;
	return '\0';
}

/* Copies one label; returns its length, or -1. */
static int copy_label(const char *bytes, size_t len, char *out)
{
	if (len == 0 || len > HOSTNAME_LABEL_MAX)
		return -1;
	if (bytes[0] == '-' || bytes[len - 1] == '-')
		return -1;
	for (size_t i = 0; i < len; i++) {
		out[i] = canonical_byte(bytes[i]);
		if (!out[i])
			return -1;
	}
	return (int)len;
}

/* A last label like this makes the whole text a number to inet_aton(). */
static bool is_number(const char *label)
{
	if (label[0] == '0' && label[1] == 'x')
		return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
	return label[strspn(label, "0123456789")] == '\0';
}

static int copy_labels(const char *bytes, size_t len, char *out)
{
	size_t start = 0;

	for (;;) {
		const char *dot = memchr(bytes + start, '.', len - start);
		size_t end = dot ? (size_t)(dot - bytes) : len;

		if (copy_label(bytes + start, end - start, out + start) < 0)
			return -1;
		if (!dot)
			break;
		out[end] = '.';
		start = end + 1;
	}
	out[len] = '\0';
	return is_number(out + start) ? -1 : 0;
}

int hostname_canonical(const char *bytes, size_t len,
		       char out[HOSTNAME_MAX + 1])
{
	if (len > 0 && bytes[len - 1] == '.')
		len--;
	if (len == 0 || len > HOSTNAME_MAX ||
	    copy_labels(bytes, len, out) < 0) {
		out[0] = '\0';
		return -1;
	}
	return (int)len;
}

bool hostname_is_special(const char *name)
{
	static const char *const tops[] = { "local",   "localhost", "internal",
					    "invalid", "onion",     "alt",
					    "arpa" };
	const char *top = strrchr(name, '.');

	if (!top)
		return true;
	if (strcmp(name, "host.docker.internal") == 0 ||
	    strcmp(name, "gateway.docker.internal") == 0)
		return false;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		if (strcmp(top + 1, tops[i]) == 0)
			return true;
	}
	return false;
}
