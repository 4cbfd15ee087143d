/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm_internal.h - between warm.c and warm_store.c
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/start_spec.h"

struct error;

#define WARM_RAM "ram"
#define WARM_STATE "state"
#define WARM_DISK "disk.qcow2"
#define WARM_MANIFEST "warm.json"
#define WARM_VERSION 1

/* Everything that a machine's state depends on; all borrowed. */
struct warm_parts {
	const char *machine, *qemu; /* type; identity of the build */
	const char *template_name, *template_id;
	const char *kernel, *initramfs;
	enum start_accel accel;
	const char *cpu, *host_cpu;
	const char *append;
	unsigned cpus, memory_mib;
	uint64_t disk_bytes;
};

/* 32 hex digits, malloc'd. Pure. */
char *warm_key(const struct warm_parts *parts);
int warm_manifest_save(int folder, const struct warm_parts *parts,
		       const char *marker, struct error *err);
/* A sandbox's record names this image. */
bool warm_is_used(const char *name);
