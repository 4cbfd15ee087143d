/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolv_conf.h - the name servers in /etc/resolv.conf
 *
 * The file is the host's own, but other programs write it (DHCP clients, VPNs)
 * and it may be half written: a line that is not understood is passed over.
 * Search lists and options are not for names that a guest asked for in full.
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/address.h"

#define RESOLV_CONF_SERVERS_MAX 8
#define RESOLV_CONF_BYTES_MAX (64u * 1024)

struct resolv_conf {
	struct address servers[RESOLV_CONF_SERVERS_MAX];
	size_t count; /* at least 1: without any line it is 127.0.0.1 */
};

/* Servers that need a zone (fe80::1%eth0) are passed over. */
void resolv_conf_parse(const void *bytes, size_t len, struct resolv_conf *out);
