/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - what a start needs from this host: QEMU, accelerator, kernel,
 * template, warm image
 */
#pragma once

#include <stdint.h>

#include "cli/resume.h"
#include "ipc/start_spec.h"
#include "provision/kernel.h"
#include "provision/machine.h"
#include "provision/template.h"
#include "provision/warm.h"

struct error;
struct request;
struct sandbox;

struct plan {
	struct machine machine;
	struct machine_accel accel;
	struct kernel kernel;
	struct template template;
	struct warm warm; /* key is NULL for a cold start */
	struct resume resume;
	unsigned cpus, memory_mib;
	uint64_t disk_bytes;
};

/* For a new sandbox; makes what is missing, which may take minutes. */
int plan_new(const struct request *request, struct plan *plan,
	     struct error *err);
/*
 * For an existing one. fresh: its disk is empty and a warm image is looked
 * for; the plan has none if it is not the one that the disk lies on.
 */
int plan_existing(const struct sandbox *sandbox, bool fresh, struct plan *plan,
		  struct error *err);
/*
 * The same with TCG, after KVM has failed; the warm image is another one.
 */
int plan_without_kvm(struct plan *plan, bool cold, struct error *err);
/* One line: KVM does not work, and what is done instead. */
void plan_say_no_kvm(const char *why);
void plan_release(struct plan *plan);
#define AUTO_PLAN __attribute__((cleanup(plan_release)))
