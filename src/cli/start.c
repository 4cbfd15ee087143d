/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - a running supervisor for a sandbox
 *
 * A fresh disk belongs to the memory of its warm image and is restored. Once
 * the machine has run, disk and memory have parted: from then on the disk is
 * booted. The mark `fresh` goes before the machine is let loose, so that a
 * crash in between costs time and never data.
 */
#include "cli/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/create.h"
#include "cli/launch.h"
#include "cli/plan.h"
#include "cli/print.h"
#include "cli/store.h"

#define ATTEMPTS 5
#define CONNECT_TRIES 200
#define ENDING_TRIES 3000

void start_release(struct start *start)
{
	control_client_release(&start->control);
	if (start->lock >= 0)
		close(start->lock);
	start->lock = -1;
	if (start->turn >= 0)
		close(start->turn);
	start->turn = -1;
	if (start->admitted >= 0)
		close(start->admitted);
	start->admitted = -1;
	start->joined = false;
}

static bool alive(const struct sandbox *sandbox)
{
	return fileio_is_locked(sandbox->folder, STORE_ALIVE_FILE) == 1;
}

/* 0 connected, 1 nobody lives there any more, -1 it does not answer. */
static int connect_running(const struct sandbox *sandbox, struct start *start,
			   struct error *err)
{
	struct timespec nap = { .tv_nsec = 10000000 };

	for (int i = 0; i < CONNECT_TRIES; i++) {
		int fd = control_connect(sandbox->folder, err);

		if (fd >= 0) {
			control_client_init(&start->control, fd);
			return 0;
		}
		if (err->code != ENOENT && err->code != ECONNREFUSED)
			return -1;
		if (!alive(sandbox))
			return 1;
		nanosleep(&nap, NULL); /* it has not come so far yet */
	}
	return error_set(err, ETIMEDOUT,
			 "the supervisor of %s does not answer (`bawn stop` "
			 "ends it)",
			 sandbox->record.name);
}

static int wait_running(struct start *start, struct error *err)
{
	json_t *answer = control_call(&start->control,
				      json_pack("{s:s}", "op", "wait"), err);

	print_warning_of(answer);
	json_decref(answer);
	return answer ? 0 : -1;
}

static void note_accel(struct sandbox *sandbox, const struct plan *plan)
{
	const char *used = plan->accel.use == START_ACCEL_KVM ? "kvm" : "tcg";
	struct sandbox_record *record = &sandbox->record;
	struct error err = { 0 };

	if (record->accel_used && !strcmp(record->accel_used, used))
		return;
	free(record->accel_used);
	record->accel_used = xstrdup(used);
	if (sandbox_record_save(sandbox->folder, record, &err) < 0)
		log_warn("%s", err.text);
}

/* Spawns and, where asked for or needed, waits. */
static int launch(struct sandbox *sandbox, const struct plan *plan,
		  enum start_wait wait, struct start *start, struct error *err)
{
	if (launch_supervisor(sandbox, plan, &start->control, err) < 0)
		return -1;
	/* a start that may fall back must be watched */
	if (wait == START_NO_WAIT && plan->accel.use == START_ACCEL_TCG &&
	    !plan->resume.found)
		return 0;
	if (wait_running(start, err) == 0)
		return 0;
	control_client_release(&start->control);
	return -1;
}

/* After KVM failed: other memory, so another warm image and another disk. */
static int start_again_with_tcg(struct sandbox *sandbox, struct plan *plan,
				bool fresh, enum start_wait wait,
				struct start *start, struct error *err)
{
	struct sandbox_record *record = &sandbox->record;
	bool cold = !fresh || !record->warm_key;

	machine_accel_failed(err->text);
	plan_say_no_kvm(err->text);
	if (plan_without_kvm(plan, cold, err) < 0)
		return -1;
	if (!cold) {
		free(record->warm_key);
		record->warm_key = xstrdup(plan->warm.key);
		if (create_disk(sandbox, plan, err) < 0)
			return -1;
	}
	record->cpus = plan->cpus;
	if (sandbox_record_save(sandbox->folder, record, err) < 0)
		return -1;
	return launch(sandbox, plan, wait, start, err);
}

/* With the memory that was kept, or, when that fails, from the disk. */
static int launch_resumed(struct sandbox *sandbox, struct plan *plan,
			  enum start_wait wait, struct start *start,
			  struct error *err)
{
	if (resume_begin(sandbox, plan, err) < 0)
		return -1;
	if (launch(sandbox, plan, wait, start, err) == 0) {
		resume_done(sandbox, plan);
		return 0;
	}
	if (!plan->resume.found || err->code == EWOULDBLOCK || alive(sandbox))
		return -1;
	resume_refuse(sandbox, plan, err->text);
	return launch(sandbox, plan, wait, start, err);
}

static int start_stopped(struct sandbox *sandbox, struct plan *plan,
			 enum start_wait wait, struct start *start,
			 struct error *err)
{
	struct sandbox_record *record = &sandbox->record;
	bool fresh = faccessat(sandbox->folder, STORE_FRESH_FILE, F_OK, 0) == 0;
	AUTO_PLAN struct plan own = { 0 };
	bool ran_with_kvm =
		record->accel_used && !strcmp(record->accel_used, "kvm");

	if (!plan) {
		plan = &own;
		if (plan_existing(sandbox, fresh, plan, err) < 0)
			return -1;
	}
	start->admitted =
		machine_admit(sandbox->folder, record->memory_mib, err);
	if (start->admitted < 0)
		return -1;
	start->turn = machine_take_turn();
	if (fresh && unlinkat(sandbox->folder, STORE_FRESH_FILE, 0) < 0)
		return error_set(err, errno, STORE_FRESH_FILE);
	if (!fresh)
		resume_find(sandbox, plan);
	if (launch_resumed(sandbox, plan, wait, start, err) < 0) {
		if (plan->accel.use != START_ACCEL_KVM || ran_with_kvm ||
		    start_again_with_tcg(sandbox, plan, fresh, wait, start,
					 err) < 0)
			return -1;
	}
	note_accel(sandbox, plan);
	return 0;
}

bool start_was_ending(const struct sandbox *sandbox, struct start *start,
		      const struct error *err)
{
	struct timespec nap = { .tv_nsec = 10000000 };

	if (!start->joined || (err->code != ESHUTDOWN &&
			       err->code != ECONNRESET && err->code != EPIPE))
		return false;
	start_release(start);
	for (int i = 0; i < ENDING_TRIES && alive(sandbox); i++)
		nanosleep(&nap, NULL);
	return !alive(sandbox);
}

/* 0: connected; 1: it is gone, try again; -1. */
static int join(const struct sandbox *sandbox, enum start_wait wait,
		struct start *start, struct error *err)
{
	int result = connect_running(sandbox, start, err);

	if (result)
		return result;
	start->joined = true;
	if (wait == START_NO_WAIT || wait_running(start, err) == 0)
		return 0;
	return start_was_ending(sandbox, start, err) ? 1 : -1;
}

/* As join(); starts a supervisor where none is. */
static int join_or_start(struct sandbox *sandbox, struct plan *plan,
			 enum start_wait wait, struct start *start,
			 struct error *err)
{
	int result;

	if (alive(sandbox))
		return join(sandbox, wait, start, err);
	start->lock = fileio_lock(sandbox->folder, STORE_LOCK_FILE,
				  FILEIO_LOCK_WAIT, err);
	if (start->lock < 0)
		return -1;
	/* somebody else may have been faster while we waited */
	if (alive(sandbox))
		return join(sandbox, wait, start, err);
	result = start_stopped(sandbox, plan, wait, start, err);
	/* or there is one whose command was killed half way */
	return result < 0 && alive(sandbox) && err->code == EWOULDBLOCK
		       ? 1
		       : result;
}

int start_sandbox(struct sandbox *sandbox, struct plan *plan,
		  enum start_wait wait, struct start *start, struct error *err)
{
	int result = 1;

	*start = START_INIT;
	for (int i = 0; i < ATTEMPTS && result > 0; i++) {
		start_release(start);
		result = join_or_start(sandbox, plan, wait, start, err);
	}
	if (result != 0) {
		start_release(start);
		return error_prefix(err, "starting %s", sandbox->record.name);
	}
	if (start->lock >= 0 && (start->joined || wait == START_WAIT))
		close(TAKE_FD(start->lock));
	if (start->turn >= 0 && wait == START_WAIT)
		close(TAKE_FD(start->turn));
	sandbox_record_touch(sandbox->folder);
	return 0;
}
