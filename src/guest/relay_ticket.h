/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ticket.h - what a TICKET record says
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/record.h"

struct ticket_record {
	uint32_t kind; /* enum ticket_kind */
	uint32_t type; /* S_IFMT part */
	uint32_t number;
	char path[PATH_MAX];
	char path2[PATH_MAX]; /* of a rename */
};

/* -1: it is none. Pure. */
int ticket_record_decode(const void *bytes, size_t len,
			 struct ticket_record *ticket);
