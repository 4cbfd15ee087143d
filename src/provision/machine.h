/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - which QEMU, which accelerator, which limits on this host
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/start_spec.h"

struct error;
struct kernel;
struct template;
struct progress;

struct machine {
	char *qemu;     /* absolute path */
	char *version;  /* "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)" */
	char *type;     /* versioned: "pc-q35-7.2" */
	char *identity; /* changes with every other build of QEMU */
};

/* Cached by the binary's size, inode and times: asking QEMU costs 40 ms. */
int machine_find(struct machine *machine, struct error *err);
void machine_release(struct machine *machine);

struct machine_accel {
	enum start_accel use;
	char reason[200]; /* why this one, for `doctor` and for a fall-back */
};

/*
 * asked: "auto", "kvm" or "tcg". auto takes KVM only if the CPU flags show vmx
 * or svm, /dev/kvm opens, and the cached probe (boot of the tiny template, once
 * for each host boot, kernel and CPU) reached the guest agent.
 */
int machine_accel(const char *asked, const struct progress *progress,
		  struct machine_accel *accel, struct error *err);
/* Remembers that KVM failed here, so that the next start does not try. */
void machine_accel_failed(const char *why);

const char *machine_cpu_model(enum start_accel accel); /* "max,la57=off" */
/* Kernel command line for a boot under this accelerator; static. */
const char *machine_kernel_args(enum start_accel accel);
/* The part of it that is the same whenever it is asked for. */
const char *machine_kernel_args_fixed(enum start_accel accel);

/* Defaults and limits of cpus, memory and disk; errors say what the host has.
 */
int machine_check_cpus(unsigned *cpus, enum start_accel accel,
		       struct error *err); /* 0 = default */
int machine_check_memory(unsigned *memory_mib, struct error *err);
int machine_check_disk(uint64_t *disk_bytes, struct error *err);
/*
 * Whether one more running sandbox of that size leaves the host room to live:
 * all of them together may have 80 % of its memory. ENOMEM in err->code.
 * folder is the sandbox's. The descriptor keeps its place until the supervisor
 * counts by itself.
 */
int machine_admit(int folder, unsigned memory_mib, struct error *err);
/*
 * A place among the few starts that may go on at once. One more than there
 * are CPUs keeps them busy; with many more the starts only hold each other up,
 * since a virtual CPU then waits for another one that does not run. Waits for a
 * place, but not for ever: after a time it returns -1, and the caller goes on
 * without. The descriptor keeps the place.
 */
int machine_take_turn(void);
