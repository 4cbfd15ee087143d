/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker.h - a supervisor that runs for us alone: it makes a warm image, or
 * tries whether this host can run a machine at all
 */
#pragma once

#include <jansson.h>

#include "ipc/start_spec.h"

struct error;

/* Root's makers, all of them, run under this uid and gid. */
#define MAKER_UID (0x70000000u + 65535)

/* A new, empty overlay of that size. */
int maker_disk(const char *path, uint64_t bytes, struct error *err);
/* 32 random hex digits, malloc'd. */
char *maker_id(void);
/*
 * Starts bawn-supervisor with the spec and waits for the answer to `wait`.
 * It ends when it has answered, or when this process dies. The answer is the
 * caller's. ram_shim, uid and gid of the spec are filled in.
 */
json_t *maker_run(struct start_spec *spec, struct error *err);
