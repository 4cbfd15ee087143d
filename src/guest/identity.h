/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h - what makes one clone of a machine differ from the next
 *
 * hostname, hosts, machine-id and resolv.conf lie in /run/bawn and are bound
 * over the files in /etc, with our descriptors kept open: a wake costs two
 * system calls a file and touches no disk. As in containers, programs can
 * write these files but not replace them.
 */
#pragma once

#include <stdint.h>

struct error;
struct message_wake;

enum identity_file {
	IDENTITY_HOSTNAME,
	IDENTITY_HOSTS,
	IDENTITY_MACHINE_ID,
	IDENTITY_RESOLV,

	IDENTITY_FILES,
};

struct identity {
	int files[IDENTITY_FILES]; /* owned */
	int random;                /* owned: /dev/urandom */
	char hostname[65];
};

/* Makes the files with a name and an id for the time until the first wake. */
int identity_open(struct identity *identity, struct error *err);
/* Clock, entropy, names: in this order. What fails is logged. */
void identity_wake(struct identity *identity, const struct message_wake *wake);
/* A name that the kernel and /etc/hosts can take. Pure. */
int identity_check_hostname(const char *hostname);
