/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving.c - a snapshot of the machine that runs here, step by step
 */
#include "supervisor/saving.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "supervisor/qmp_reply.h"
#include "supervisor/requests.h"
#include "supervisor/sandbox.h"
#include "supervisor/sandbox_internal.h"
#include "supervisor/saving_internal.h"
#include "supervisor/start.h"

enum {
	PREPARE_MS = 20000, /* an emulated guest under load is slow */
	FREEZE_MS = 5000,
	POWER_OFF_MS = 10000,
	/* until the first program after a checkpoint at once has begun */
	COPY_LATER_MS = 60,
};

static void on_timer(struct timer *timer);
static void copy_rest(struct sandbox *sandbox);

static double now_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void saving_init(struct sandbox *sandbox)
{
	sandbox->saving = (struct saving){
		.folder = -1,
		.ram = -1,
		.state = -1,
		.disk = -1,
		.timer = { .name = "snapshot deadline", .on_fire = on_timer },
		.copy = SAVING_COPY_INIT,
	};
}

void saving_release(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	timer_stop(&saving->timer);
	saving_copy_stop(&saving->copy);
	ram_image_release(&saving->image);
	saving_close_files(sandbox);
}

bool saving_is_busy(const struct sandbox *sandbox)
{
	return sandbox->saving.step != SAVING_NOT;
}

bool saving_is_quiet(const struct sandbox *sandbox)
{
	enum saving_step step = sandbox->saving.step;

	return step > SAVING_AHEAD && step != SAVING_REST;
}

/* Back to an ordinary life, whatever was done so far. */
static void go_on(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	if (saving->stopped)
		qmp_send(&sandbox->qmp, "cont", NULL, NULL, NULL);
	saving->stopped = false;
	launcher_thaw(&sandbox->launcher);
	guest_link_hold(&sandbox->guest, false);
	start_send_wake(sandbox);
}

void saving_fail(struct sandbox *sandbox, const char *fmt, ...)
{
	struct saving *saving = &sandbox->saving;
	char text[300];
	va_list args;

	if (saving->step == SAVING_NOT)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	log_warn("snapshot: %s", text);
	timer_stop(&saving->timer);
	saving_copy_stop(&saving->copy);
	if (saving->step > SAVING_AHEAD && saving->step < SAVING_REST &&
	    sandbox->life == SANDBOX_RUNNING)
		go_on(sandbox);
	saving_disk_cancel(sandbox);
	saving_remove_files(sandbox);
	ram_image_release(&saving->image);
	saving->step = SAVING_NOT;
	requests_saved(sandbox, text);
	if (saving->or_power_off && sandbox->life == SANDBOX_RUNNING)
		sandbox_stop(sandbox, POWER_OFF_MS);
	else
		requests_life_changed(sandbox);
}

void saving_give_up(struct sandbox *sandbox)
{
	sandbox->saving.or_power_off = false;
	saving_fail(sandbox, "the sandbox is being stopped");
}

static void on_timer(struct timer *timer)
{
	struct sandbox *sandbox =
		CONTAINER_OF(timer, struct sandbox, saving.timer);

	if (sandbox->saving.step == SAVING_REST) {
		copy_rest(sandbox);
		return;
	}
	saving_fail(sandbox, sandbox->saving.step == SAVING_PREPARE
				     ? "the guest does not stand still"
				     : "the helpers do not stand still");
}

static int send_prepare(struct sandbox *sandbox, struct error *err)
{
	struct message message = { .type = MESSAGE_PREPARE };

	if (getrandom(sandbox->marker, sizeof(sandbox->marker), 0) !=
	    (ssize_t)sizeof(sandbox->marker))
		return error_set(err, errno, "no entropy");
	sandbox->marker[0] |= MUX_MARKER_BIT;
	memcpy(message.prepare.marker, sandbox->marker,
	       sizeof(sandbox->marker));
	if (guest_link_send(&sandbox->guest, &message, err) < 0)
		return -1;
	/* Nothing after it: a restored guest would take it for its own. */
	guest_link_hold(&sandbox->guest, true);
	return 0;
}

static int begin_memory(struct sandbox *sandbox, struct error *err)
{
	struct saving *saving = &sandbox->saving;

	if (saving->kind == SAVING_DISK) {
		saving->ram_done = true;
		return 0;
	}
	if (ram_image_begin(&saving->image, sandbox->qemu.child.pid,
			    sandbox->files->qemu.ram, saving->ram,
			    (uint64_t)sandbox->spec->memory_mib << 20, err) < 0)
		return -1;
	return saving->kind == SAVING_SUSPEND
		       ? 0
		       : ram_image_through_memory(&saving->image, err);
}

static int prepare(struct sandbox *sandbox, struct error *err)
{
	if (send_prepare(sandbox, err) < 0)
		return -1;
	sandbox->saving.step = SAVING_PREPARE;
	timer_start(sandbox->loop, &sandbox->saving.timer, PREPARE_MS);
	/* The guest takes a while; QEMU can open the file meanwhile. */
	if (sandbox->saving.kind != SAVING_SUSPEND)
		saving_disk_open(sandbox);
	return 0;
}

static void on_copied_ahead(void *ctx, const struct error *failure)
{
	struct sandbox *sandbox = ctx;
	struct error err;

	if (failure)
		saving_fail(sandbox, "%s", failure->text);
	else if (sandbox->saving.step == SAVING_AHEAD &&
		 prepare(sandbox, &err) < 0)
		saving_fail(sandbox, "%s", err.text);
}

static int copy_ahead(struct sandbox *sandbox, struct error *err)
{
	struct saving *saving = &sandbox->saving;

	saving->copy.part = ram_image_ahead;
	saving->copy.image = &saving->image;
	saving->copy.on_end = on_copied_ahead;
	saving->copy.ctx = sandbox;
	return saving_copy_start(&saving->copy, sandbox->loop, err);
}

/* Where how long the machine stands does not matter, as much is copied ahead as
 * the guest leaves time for. */
static int begin(struct sandbox *sandbox, struct error *err)
{
	enum saving_kind kind = sandbox->saving.kind;

	if (kind == SAVING_CHECKPOINT) {
		sandbox->saving.step = SAVING_AHEAD;
		return copy_ahead(sandbox, err);
	}
	if (prepare(sandbox, err) < 0)
		return -1;
	/* Beside the guest, and never in its way; none at all will do. */
	sandbox->saving.copy.beside = true;
	if (kind == SAVING_CHECKPOINT_AT_ONCE)
		(void)copy_ahead(sandbox, NULL);
	return 0;
}

int saving_begin(struct sandbox *sandbox, enum saving_kind kind,
		 struct error *err)
{
	struct saving *saving = &sandbox->saving;

	if (sandbox->life != SANDBOX_RUNNING)
		return error_set(err, EAGAIN, "the sandbox is %s",
				 sandbox_life_name(sandbox->life));
	if (saving->step != SAVING_NOT)
		return error_set(err, EBUSY, "a snapshot is being taken");
	saving_init(sandbox);
	saving->kind = kind;
	if (saving_open_files(sandbox, err) < 0 ||
	    begin_memory(sandbox, err) < 0 || begin(sandbox, err) < 0) {
		saving_copy_stop(&saving->copy);
		saving_remove_files(sandbox);
		ram_image_release(&saving->image);
		return -1;
	}
	return 0;
}

void saving_or_power_off(struct sandbox *sandbox)
{
	struct error err;

	if (sandbox->spec->remove_at_end || sandbox->life != SANDBOX_RUNNING) {
		sandbox_stop(sandbox, POWER_OFF_MS);
		return;
	}
	if (saving_begin(sandbox, SAVING_SUSPEND, &err) < 0) {
		log_warn("snapshot: %s", err.text);
		sandbox_stop(sandbox, POWER_OFF_MS);
		return;
	}
	sandbox->saving.or_power_off = true;
}

void saving_on_prepared(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	if (saving->step != SAVING_PREPARE) {
		guest_link_blame(&sandbox->guest, "an unexpected PREPARED");
		return;
	}
	saving->since_ms = now_ms();
	if (saving->kind == SAVING_DISK) {
		/* the guest's files are on the disk, and nobody writes more */
		timer_stop(&saving->timer);
		saving->step = SAVING_MACHINE;
		saving_disk_begin(sandbox);
		return;
	}
	saving->step = SAVING_FREEZE;
	timer_start(sandbox->loop, &saving->timer, FREEZE_MS);
	launcher_freeze(&sandbox->launcher, sandbox->marker);
}

static void must_succeed(void *ctx, const struct qmp_reply *reply)
{
	if (reply && reply->kind == QMP_ERROR)
		saving_fail(ctx, "QEMU: %s", reply->text);
}

static void ask(struct sandbox *sandbox, const char *command, json_t *arguments,
		qmp_answer_fn *on_answer)
{
	struct error err;

	if (qmp_send(&sandbox->qmp, command, arguments, on_answer, &err) < 0)
		saving_fail(sandbox, "%s", err.text);
}

static void resume_checkpoint(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	saving->step = SAVING_REST;
	go_on(sandbox);
	saving->pause_ms = now_ms() - saving->since_ms;
	log_info("checkpoint: the machine stood for %.0f ms, %llu MB",
		 saving->pause_ms,
		 (unsigned long long)saving->image.private >> 20);
	requests_went_on(sandbox);
}

void saving_disk_begun(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	if (saving->kind == SAVING_DISK && saving->step == SAVING_MACHINE)
		resume_checkpoint(sandbox);
}

static void finish_checkpoint(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;
	struct error err;

	if (!saving->ram_done || !saving->disk_done)
		return;
	/* Sums and syncs take long, and sessions wait for us: the client does
	 * them. */
	if (saving->kind != SAVING_DISK &&
	    saving_write_manifest(sandbox, &err) < 0) {
		saving_fail(sandbox, "%s", err.text);
		return;
	}
	saving_release(sandbox);
	saving->step = SAVING_NOT;
	if (saving->kind != SAVING_DISK)
		sandbox_event(sandbox, "checkpoint", NULL);
	requests_saved(sandbox, NULL);
	requests_life_changed(sandbox);
}

static void finish_suspend(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;
	struct error err;

	if (saving_sync(sandbox, &err) < 0 ||
	    saving_reserve(sandbox, &err) < 0) {
		saving_fail(sandbox, "%s", err.text);
		return;
	}
	saving->step = SAVING_QUIT;
	sandbox_quit(sandbox);
}

void saving_disk_done(struct sandbox *sandbox)
{
	sandbox->saving.disk_done = true;
	finish_checkpoint(sandbox);
}

static void on_copied(void *ctx, const struct error *failure)
{
	struct sandbox *sandbox = ctx;
	struct saving *saving = &sandbox->saving;

	if (failure) {
		saving_fail(sandbox, "%s", failure->text);
		return;
	}
	saving->ram_done = true;
	if (saving->kind != SAVING_SUSPEND)
		finish_checkpoint(sandbox);
	else
		finish_suspend(sandbox);
}

static void copy_rest(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;
	struct error err;

	saving->copy.part = ram_image_more;
	saving->copy.image = &saving->image;
	saving->copy.on_end = on_copied;
	saving->copy.ctx = sandbox;
	saving->copy.beside = saving->kind == SAVING_CHECKPOINT_AT_ONCE;
	if (saving_copy_start(&saving->copy, sandbox->loop, &err) < 0)
		saving_fail(sandbox, "%s", err.text);
}

static void on_devices_written(void *ctx, const struct qmp_reply *reply)
{
	struct sandbox *sandbox = ctx;
	struct saving *saving = &sandbox->saving;
	struct error err;

	if (saving->step != SAVING_MACHINE)
		return;
	must_succeed(ctx, reply);
	if (!reply || reply->kind == QMP_ERROR)
		return;
	saving_copy_stop(&saving->copy);
	if (ram_image_take(&saving->image, &err) < 0) {
		saving_fail(sandbox, "%s", err.text);
		return;
	}
	qmp_send(&sandbox->qmp, "remove-fd",
		 json_pack("{s:i}", "fdset-id", QMP_SET_STATE), NULL, NULL);
	if (saving->kind != SAVING_SUSPEND)
		resume_checkpoint(sandbox);
	/* A thread more would take the processor from whoever is waited for. */
	if (saving->kind == SAVING_CHECKPOINT_AT_ONCE)
		timer_start(sandbox->loop, &saving->timer, COPY_LATER_MS);
	else
		copy_rest(sandbox);
}

static void save_machine(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;
	struct error err;

	saving->step = SAVING_MACHINE;
	saving->stopped = true;
	ask(sandbox, "stop", NULL, must_succeed);
	if (qmp_send_fd(&sandbox->qmp, QMP_SET_STATE, saving->state,
			must_succeed, &err) < 0) {
		saving_fail(sandbox, "%s", err.text);
		return;
	}
	ask(sandbox, "xen-save-devices-state",
	    json_pack("{s:s, s:b}", "filename",
		      "/dev/fdset/" QMP_SET_STATE_TEXT, "live", 0),
	    on_devices_written);
	/* After them: they wait for every block that is under way. */
	if (saving->step == SAVING_MACHINE && saving->kind != SAVING_SUSPEND)
		saving_disk_begin(sandbox);
}

/* QEMU has looked at its sockets since the helpers stand. */
static void on_settled(void *ctx, const struct qmp_reply *reply)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->saving.step == SAVING_SETTLE && reply)
		save_machine(sandbox);
}

void saving_on_frozen(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	if (saving->step != SAVING_FREEZE)
		return;
	timer_stop(&saving->timer);
	saving->step = SAVING_SETTLE;
	ask(sandbox, "query-status", NULL, on_settled);
}

bool saving_on_gone(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;
	struct error err;
	bool kept = false;

	if (saving->step == SAVING_NOT)
		return false;
	timer_stop(&saving->timer);
	saving_copy_stop(&saving->copy);
	if (saving->step == SAVING_QUIT && !sandbox->failed) {
		kept = saving_write_manifest(sandbox, &err) == 0;
		if (!kept)
			log_error("snapshot: %s", err.text);
	}
	if (!kept)
		saving_remove_files(sandbox);
	saving_release(sandbox);
	saving->step = SAVING_NOT;
	if (!kept)
		requests_saved(sandbox, "the machine ended");
	return kept;
}
