/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_trust.c - the file with the authorities that this host trusts
 */
#include "base/host_trust.h"

#include <fcntl.h>

#include "base/own.h"

/* Debian; Fedora; SUSE; Alpine and others. */
static const char *const files[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

int host_trust_open(void)
{
	int fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(files) && fd < 0; i++)
		fd = open(files[i], O_RDONLY | O_CLOEXEC);
	return fd;
}
