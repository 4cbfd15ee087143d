/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - what a start needs from this host
 */
#include "cli/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/progress_view.h"
#include "cli/request.h"
#include "cli/store.h"

void plan_release(struct plan *plan)
{
	machine_release(&plan->machine);
	kernel_release(&plan->kernel);
	template_release(&plan->template);
	warm_release(&plan->warm);
	snapshot_release(&plan->resume.snapshot);
	memset(plan, 0, sizeof(*plan));
}

static int find_warm(struct plan *plan, struct error *err)
{
	struct warm_request request = {
		.kernel = &plan->kernel,
		.template = &plan->template,
		.accel = plan->accel.use,
		.cpus = plan->cpus,
		.memory_mib = plan->memory_mib,
		.disk_bytes = plan->disk_bytes,
	};

	return warm_ensure(&request, progress_view(), &plan->warm, err);
}

void plan_say_no_kvm(const char *why)
{
	progress_view_clear();
	fprintf(stderr, "bawn: no KVM (%s); using emulation (TCG)\n", why);
}

enum fall_back {
	FALL_BACK, /* KVM that does not work is replaced by TCG, and said */
	NO_FALL_BACK,
};

/* What every start needs: the emulator, its accelerator and the kernel. */
static int find_machine(struct plan *plan, const char *accel,
			enum fall_back fall_back, struct error *err)
{
	const struct progress *progress = progress_view();

	if (machine_find(&plan->machine, err) < 0)
		return -1;
	if (kernel_ensure(progress, &plan->kernel, err) < 0)
		return error_prefix(err, "guest kernel");
	if (machine_accel(accel, progress, &plan->accel, err) < 0) {
		if (fall_back == NO_FALL_BACK)
			return -1;
		plan_say_no_kvm(err->text);
		plan->accel.use = START_ACCEL_TCG;
	}
	log_debug("accelerator: %s", plan->accel.reason);
	return 0;
}

static int check_resources(struct plan *plan, struct error *err)
{
	if (machine_check_cpus(&plan->cpus, plan->accel.use, err) < 0 ||
	    machine_check_memory(&plan->memory_mib, err) < 0 ||
	    machine_check_disk(&plan->disk_bytes, err) < 0)
		return -1;
	return 0;
}

/* Limits that do not depend on the accelerator, before anything is fetched. */
static int check_early(const struct request *request, struct error *err)
{
	unsigned memory_mib = request->memory_mib;
	uint64_t disk_bytes = request->disk_bytes;

	if (machine_check_memory(&memory_mib, err) < 0)
		return -1;
	return machine_check_disk(&disk_bytes, err);
}

/* The file system is as large as it is; a disk cannot be smaller. */
static int check_disk_holds(const struct plan *plan, struct error *err)
{
	unsigned long long need = plan->template.size_bytes;

	if (plan->disk_bytes >= need)
		return 0;
	return error_set(err, 0,
			 "--disk %lluM: template %s needs at least %lluM",
			 (unsigned long long)plan->disk_bytes >> 20,
			 plan->template.name, (need + (1 << 20) - 1) >> 20);
}

static int find_template(const struct request *request, struct plan *plan,
			 struct error *err)
{
	struct template_wish wish = {
		.name = request_template(request),
		.policy = request->pull,
		.place = TEMPLATE_USER,
		.progress = progress_view(),
		.ask_engine = request->ask_engine,
	};
	char note[512];

	if (template_obtain(&wish, &plan->template, note, err) < 0)
		return -1;
	progress_view_clear();
	if (note[0])
		fprintf(stderr, "bawn: %s\n", note);
	return 0;
}

int plan_new(const struct request *request, struct plan *plan,
	     struct error *err)
{
	memset(plan, 0, sizeof(*plan));
	plan->cpus = request->cpus;
	plan->memory_mib = request->memory_mib;
	plan->disk_bytes = request->disk_bytes;
	if (check_early(request, err) < 0 ||
	    find_machine(plan, request->accel ? request->accel : "auto",
			 FALL_BACK, err) < 0 ||
	    check_resources(plan, err) < 0)
		return -1;
	if (find_template(request, plan, err) < 0 ||
	    check_disk_holds(plan, err) < 0)
		return -1;
	if (request->cold || find_warm(plan, err) == 0)
		return 0;
	if (plan->accel.use != START_ACCEL_KVM)
		return error_prefix(err, "warm image (--cold starts without)");
	machine_accel_failed(err->text);
	plan_say_no_kvm(err->text);
	return plan_without_kvm(plan, false, err);
}

int plan_existing(const struct sandbox *sandbox, bool fresh, struct plan *plan,
		  struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	const char *accel = record->accel, *used = record->accel_used;
	struct error missing = { 0 };

	memset(plan, 0, sizeof(*plan));
	plan->cpus = record->cpus;
	plan->memory_mib = record->memory_mib;
	plan->disk_bytes = record->disk_bytes;
	/* a guest that broke KVM on purpose must not get TCG for it */
	if (used && !strcmp(used, "kvm") && strcmp(accel, "tcg"))
		accel = "kvm";
	else if (used && !strcmp(accel, "kvm"))
		accel = "auto"; /* it fell back before: ask the probe */
	if (find_machine(plan, accel,
			 used && !strcmp(used, "kvm") ? NO_FALL_BACK
						      : FALL_BACK,
			 err) < 0)
		return -1;
	if (template_find_content(record->template_name, record->template_id,
				  &plan->template, err) < 0)
		return error_prefix(err, "what sandbox %s stands on",
				    record->name);
	if (!fresh || !record->warm_key)
		return 0;
	if (find_warm(plan, &missing) == 0 &&
	    !strcmp(plan->warm.key, record->warm_key))
		return 0;
	/* QEMU or the kernel changed meanwhile: the disk boots all the same */
	warm_release(&plan->warm);
	memset(&plan->warm, 0, sizeof(plan->warm));
	return 0;
}

int plan_without_kvm(struct plan *plan, bool cold, struct error *err)
{
	plan->accel.use = START_ACCEL_TCG;
	warm_release(&plan->warm);
	memset(&plan->warm, 0, sizeof(plan->warm));
	/* under TCG never more than the host has */
	if (machine_check_cpus(&plan->cpus, plan->accel.use, NULL) < 0) {
		plan->cpus = 0;
		if (machine_check_cpus(&plan->cpus, plan->accel.use, err) < 0)
			return -1;
	}
	return cold ? 0 : find_warm(plan, err);
}
