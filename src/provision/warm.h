/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm.h - warm images: boot once, restore for ever after
 *
 * data/warm/KEY/ holds ram, state, disk.qcow2 (on the template) and warm.json
 * (key, marker, sizes, inodes and times, so that a damaged one is never
 * loaded). The key covers everything that the machine state depends on:
 * template, kernel, initramfs, QEMU build, machine arguments, CPU model of the
 * host under KVM, CPUs, memory, disk size, accelerator.
 */
#pragma once

#include <stdint.h>

#include "ipc/start_spec.h"

struct error;
struct kernel;
struct progress;
struct template;

struct warm_request {
	const struct kernel *kernel;
	const struct template *template;
	enum start_accel accel;
	unsigned cpus, memory_mib;
	uint64_t disk_bytes;
};

struct warm {
	char *key;
	char *folder;
	char *ram, *device_state, *disk; /* absolute paths */
	char *marker;                    /* 64 hex digits */
	char *machine, *cpu;             /* versioned names in the state */
};

/*
 * Finds a warm image that fits, or makes one (one at a time: a second process
 * waits for the first). Checks the free space before making one. Old images
 * that nothing stands on are removed after a new one was made.
 */
int warm_ensure(const struct warm_request *request,
		const struct progress *progress, struct warm *warm,
		struct error *err);
/* An existing one by key, verified; ENOENT or EBADMSG in err->code. */
int warm_find(const char *key, struct warm *warm, struct error *err);
/* Compares all of an image with what was made; EBADMSG names the file. */
int warm_verify(const char *key, struct error *err);
/* Every image that lies there, whole or not. */
int warm_each(void (*each)(void *ctx, const char *key), void *ctx,
	      struct error *err);
/* Images that no sandbox's record names and that no start would use. */
typedef void warm_unused_fn(void *ctx, const char *key, uint64_t bytes);
int warm_each_unused(warm_unused_fn *each, void *ctx, struct error *err);
/* Removes them. freed_bytes may be NULL. */
int warm_prune(uint64_t *freed_bytes, struct error *err);
/* Also what the next start would use; only what a sandbox stands on stays. */
int warm_reset(uint64_t *freed_bytes, struct error *err);
void warm_release(struct warm *warm);
