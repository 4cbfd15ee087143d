/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - the state machine: what each fact does to the sandbox
 */
#include "supervisor/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "state/events.h"
#include "supervisor/requests.h"
#include "supervisor/sandbox_internal.h"
#include "supervisor/start.h"
#include "supervisor/vcpus.h"

#define FULL "the host's disk is full: No space left on device"

enum {
	QUIT_MS = 3000,  /* for QEMU to flush and end */
	KILL_MS = 10000, /* for the kernel to end it */
	SPACE_POLL_MS = 1000,
	SPACE_BYTES = 8 << 20, /* room enough to try again */
	LAST_WORDS_MS = 1000,  /* for answers to go out */
	CLOSED_MS = 2000,      /* from closed channels to the exit */
	LOOK_MS = 5000,        /* for QEMU to say what the vCPUs do */
};

enum stop_step {
	STOP_ASK_GUEST,
	STOP_ASK_QEMU,
	STOP_KILL,
};

const char *sandbox_life_name(enum sandbox_life life)
{
	static const char *const names[SANDBOX_LIVES] = {
		[SANDBOX_NEW] = "new",
		[SANDBOX_STARTING] = "starting",
		[SANDBOX_RUNNING] = "running",
		[SANDBOX_PAUSED] = "paused",
		[SANDBOX_STOPPING] = "stopping",
		[SANDBOX_GONE] = "gone",
	};

	return names[life];
}

static enum sandbox_status status_of(const struct sandbox *sandbox)
{
	switch (sandbox->life) {
	case SANDBOX_NEW:
	case SANDBOX_STARTING:
		return SANDBOX_STATUS_STARTING;
	case SANDBOX_PAUSED:
		return SANDBOX_STATUS_PAUSED;
	case SANDBOX_GONE:
		if (sandbox->suspended)
			return SANDBOX_STATUS_SUSPENDED;
		return sandbox->failed ? SANDBOX_STATUS_FAILED
				       : SANDBOX_STATUS_STOPPED;
	default:
		return SANDBOX_STATUS_RUNNING;
	}
}

/* A warm image in the making has no record. */
static void save_state(struct sandbox *sandbox)
{
	struct sandbox_state *state = &sandbox->saved;
	struct error err;

	state->status = status_of(sandbox);
	text_copy(state->accel, sizeof(state->accel),
		  sandbox->spec->accel == START_ACCEL_KVM ? "kvm" : "tcg");
	text_copy(state->reason, sizeof(state->reason), sandbox->reason);
	state->supervisor_pid = sandbox->life == SANDBOX_GONE ? 0 : getpid();
	state->qemu_pid = sandbox->qemu.child.pid;
	state->since = time(NULL);
	if (sandbox->spec->goal == START_MAKE_WARM)
		return;
	if (sandbox_state_save(sandbox->files->folder, state, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "state: %s", err.text);
}

void sandbox_event(struct sandbox *sandbox, const char *event, json_t *details)
{
	if (sandbox->files->events < 0)
		json_decref(details);
	else
		events_write(sandbox->files->events, event, sandbox->spec->name,
			     details);
}

static void set_life(struct sandbox *sandbox, enum sandbox_life life)
{
	log_info("%s -> %s%s%s", sandbox_life_name(sandbox->life),
		 sandbox_life_name(life), sandbox->reason[0] ? ": " : "",
		 sandbox->reason);
	sandbox->life = life;
}

bool sandbox_accepts_sessions(const struct sandbox *sandbox)
{
	/* What was sent now would be part of a snapshot, or lost. */
	if (sandbox->spec->goal == START_MAKE_WARM || saving_is_quiet(sandbox))
		return false;
	return sandbox->life == SANDBOX_RUNNING ||
	       sandbox->life == SANDBOX_PAUSED ||
	       (sandbox->life == SANDBOX_STARTING && sandbox->greeted &&
		sandbox->spec->goal == START_RESTORE);
}

void sandbox_awake(struct sandbox *sandbox)
{
	sandbox->guest_awake = true;
	if (sandbox->life != SANDBOX_STARTING)
		return;
	timer_stop(&sandbox->boot_timer);
	set_life(sandbox, SANDBOX_RUNNING);
	idle_start(sandbox);
	/* Who waits comes before what is written down. */
	requests_life_changed(sandbox);
	save_state(sandbox);
	sandbox_event(sandbox, "running",
		      json_pack("{s:s}", "accel", sandbox->saved.accel));
}

void sandbox_looked_at(struct sandbox *sandbox)
{
	char line[120];

	/* It was stopped meanwhile, or has answered at last. */
	if (sandbox->life != SANDBOX_STARTING)
		return;
	console_last_line(&sandbox->console, line, sizeof(line));
	sandbox_fail(sandbox, "the guest did not answer within %u s%s%s",
		     sandbox->spec->boot_timeout_ms / 1000,
		     line[0] ? "; its console ends with: " : "", line);
}

static void on_boot_timer(struct timer *timer)
{
	struct sandbox *sandbox =
		CONTAINER_OF(timer, struct sandbox, boot_timer);

	if (sandbox->starved) {
		sandbox_fail(sandbox, "%s", FULL);
		return;
	}
	if (!sandbox->late && vcpus_log(sandbox) == 0) {
		sandbox->late = true;
		timer_start(sandbox->loop, timer, LOOK_MS);
		return;
	}
	log_error("QEMU does not say what the vCPUs do");
	sandbox_looked_at(sandbox);
}

void sandbox_fail(struct sandbox *sandbox, const char *fmt, ...)
{
	va_list args;

	if (sandbox->failed || sandbox->life == SANDBOX_GONE)
		return;
	sandbox->failed = true;
	va_start(args, fmt);
	vsnprintf(sandbox->reason, sizeof(sandbox->reason), fmt, args);
	va_end(args);
	log_error("%s", sandbox->reason);
	timer_stop(&sandbox->boot_timer);
	set_life(sandbox, SANDBOX_STOPPING);
	sandbox->stop_step = STOP_KILL;
	qemu_kill(&sandbox->qemu);
	timer_start(sandbox->loop, &sandbox->stop_timer, KILL_MS);
}

static void next_stop_step(struct sandbox *sandbox, uint64_t timeout_ms)
{
	struct message message = { .type = MESSAGE_POWER_OFF };
	struct error err;

	if (sandbox->stop_step == STOP_ASK_GUEST &&
	    guest_link_send(&sandbox->guest, &message, &err) == 0) {
		timer_start(sandbox->loop, &sandbox->stop_timer, timeout_ms);
		return;
	}
	if (sandbox->stop_step <= STOP_ASK_QEMU &&
	    qmp_send(&sandbox->qmp, "quit", NULL, NULL, &err) == 0) {
		sandbox->stop_step = STOP_ASK_QEMU;
		timer_start(sandbox->loop, &sandbox->stop_timer, QUIT_MS);
		return;
	}
	sandbox->stop_step = STOP_KILL;
	qemu_kill(&sandbox->qemu);
	timer_start(sandbox->loop, &sandbox->stop_timer, KILL_MS);
}

static void on_stop_timer(struct timer *timer)
{
	struct sandbox *sandbox =
		CONTAINER_OF(timer, struct sandbox, stop_timer);

	if (sandbox->life != SANDBOX_STOPPING) {
		sandbox_fail(sandbox, "QEMU has closed its channels");
		return;
	}
	if (sandbox->stop_step < STOP_KILL) {
		log_warn("the machine did not end in time");
		sandbox->stop_step++;
	}
	next_stop_step(sandbox, 0);
}

void sandbox_stop(struct sandbox *sandbox, uint64_t timeout_ms)
{
	bool awake = sandbox->life == SANDBOX_RUNNING;

	if (sandbox->life == SANDBOX_GONE) {
		requests_life_changed(sandbox);
		return;
	}
	/* A second request may only shorten the first. */
	if (sandbox->life == SANDBOX_STOPPING) {
		if (timeout_ms == 0 && sandbox->stop_step == STOP_ASK_GUEST)
			timer_start(sandbox->loop, &sandbox->stop_timer, 0);
		return;
	}
	/* A guest that stands still could not be asked to end. */
	saving_give_up(sandbox);
	timer_stop(&sandbox->boot_timer);
	timer_stop(&sandbox->space_timer);
	sandbox->reason[0] = '\0';
	set_life(sandbox, SANDBOX_STOPPING);
	/* Nobody will ever read a disk that is about to be removed. */
	if (sandbox->spec->remove_at_end)
		sandbox->stop_step = STOP_KILL;
	else
		sandbox->stop_step =
			awake && timeout_ms ? STOP_ASK_GUEST : STOP_ASK_QEMU;
	next_stop_step(sandbox, timeout_ms);
	requests_life_changed(sandbox);
}

void sandbox_quit(struct sandbox *sandbox)
{
	sandbox->reason[0] = '\0';
	set_life(sandbox, SANDBOX_STOPPING);
	sandbox->stop_step = STOP_ASK_QEMU;
	next_stop_step(sandbox, 0);
}

void sandbox_lacks(struct sandbox *sandbox, const char *text)
{
	size_t len = strlen(sandbox->warning);

	log_warn("%s", text);
	text_format(sandbox->warning + len, sizeof(sandbox->warning) - len,
		    "%s%s", len ? "; " : "", text);
	if (sandbox->life != SANDBOX_RUNNING)
		return;
	text_copy(sandbox->reason, sizeof(sandbox->reason), text);
	save_state(sandbox);
}

/*
 * Before it was ready. One that boots can do so again; one that was restored
 * has memory that is nowhere else by now, so it waits as long as it may.
 */
static void starve(struct sandbox *sandbox)
{
	if (sandbox->spec->goal != START_RESTORE) {
		sandbox_fail(sandbox, "%s", FULL);
		return;
	}
	sandbox->starved = true;
	timer_start(sandbox->loop, &sandbox->space_timer, SPACE_POLL_MS);
}

void sandbox_pause(struct sandbox *sandbox, const char *reason)
{
	if (sandbox->life == SANDBOX_STARTING)
		starve(sandbox);
	if (sandbox->life != SANDBOX_RUNNING)
		return;
	text_copy(sandbox->reason, sizeof(sandbox->reason), reason);
	set_life(sandbox, SANDBOX_PAUSED);
	save_state(sandbox);
	sandbox_event(sandbox, "paused", json_pack("{s:s}", "reason", reason));
	timer_start(sandbox->loop, &sandbox->space_timer, SPACE_POLL_MS);
}

void sandbox_resumed(struct sandbox *sandbox)
{
	if (sandbox->starved)
		timer_stop(&sandbox->space_timer);
	sandbox->starved = false;
	if (sandbox->life != SANDBOX_PAUSED)
		return;
	sandbox->reason[0] = '\0';
	timer_stop(&sandbox->space_timer);
	set_life(sandbox, SANDBOX_RUNNING);
	save_state(sandbox);
	sandbox_event(sandbox, "resumed", NULL);
	/* Its clock stood still. */
	start_send_wake(sandbox);
	requests_life_changed(sandbox);
}

static bool has_room(int fd)
{
	struct statvfs space;

	return fstatvfs(fd, &space) == 0 &&
	       space.f_bavail * space.f_frsize >= SPACE_BYTES;
}

static void on_space_timer(struct timer *timer)
{
	struct sandbox *sandbox =
		CONTAINER_OF(timer, struct sandbox, space_timer);

	timer_start(sandbox->loop, timer, SPACE_POLL_MS);
	if (!has_room(sandbox->files->qemu.disks[0]))
		return;
	/* QEMU writes again; if that fails, it says so again. */
	qmp_send(&sandbox->qmp, "cont", NULL, NULL, NULL);
}

static void explain_exit(struct sandbox *sandbox, int status)
{
	const char *said = sandbox->qemu.last_error;
	char line[120];

	sandbox->failed = true;
	console_last_line(&sandbox->console, line, sizeof(line));
	if (sandbox->shut_down)
		text_format(sandbox->reason, sizeof(sandbox->reason),
			    "the guest ended before it was ready%s%s",
			    line[0] ? "; its console ends with: " : "", line);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS &&
		 !has_room(sandbox->files->qemu.ram))
		/* tmpfs wants room for a page of nothing that is read, too */
		text_copy(sandbox->reason, sizeof(sandbox->reason), FULL);
	else if (WIFSIGNALED(status))
		text_format(sandbox->reason, sizeof(sandbox->reason),
			    "QEMU was killed by signal %d (%s)%s%s",
			    WTERMSIG(status), strsignal(WTERMSIG(status)),
			    said[0] ? ": " : "", said);
	else
		text_format(sandbox->reason, sizeof(sandbox->reason),
			    "QEMU ended with code %d%s%s", WEXITSTATUS(status),
			    said[0] ? ": " : "", said);
}

/* A kernel that crashed resets the machine, as `reboot` does. */
static bool explain_crash(struct sandbox *sandbox)
{
	bool kept = sandbox->spec->goal != START_MAKE_WARM &&
		    !sandbox->spec->remove_at_end;
	char line[120];

	console_panic(&sandbox->console, line, sizeof(line));
	if (!sandbox->reset || !line[0])
		return false;
	sandbox->failed = true;
	text_format(sandbox->reason, sizeof(sandbox->reason),
		    "the guest's kernel crashed: %s%s%s%s", line,
		    kept ? " (bawn logs " : "", kept ? sandbox->spec->name : "",
		    kept ? ")" : "");
	return true;
}

/* Nobody asked for it. */
static void explain_end(struct sandbox *sandbox, int status)
{
	bool own_wish = sandbox->shut_down && sandbox->guest_awake &&
			sandbox->spec->goal != START_MAKE_WARM;
	char line[120];

	if (explain_crash(sandbox))
		return;
	if (!own_wish) {
		explain_exit(sandbox, status);
		return;
	}
	if (!sandbox->reset)
		return;
	console_last_line(&sandbox->console, line, sizeof(line));
	text_format(sandbox->reason, sizeof(sandbox->reason),
		    "the guest restarted itself%s%s",
		    line[0] ? "; its console ends with: " : "", line);
}

/* MAKE_WARM: what was written must survive a power cut. */
static void keep_image(struct sandbox *sandbox)
{
	const struct qemu_files *files = &sandbox->files->qemu;

	if (fsync(files->ram) < 0 || fsync(files->device_state) < 0 ||
	    fsync(files->disks[0]) < 0) {
		sandbox->failed = true;
		text_format(sandbox->reason, sizeof(sandbox->reason),
			    "the warm image could not be written: %s",
			    strerror(errno));
		return;
	}
	phases_end(&sandbox->phases, "sync");
	sandbox->image_made = true;
}

static void on_flush_timer(struct timer *timer)
{
	struct sandbox *sandbox =
		CONTAINER_OF(timer, struct sandbox, flush_timer);

	if (clients_flushed(&sandbox->clients) ||
	    loop_now_ms() > sandbox->gone_ms + LAST_WORDS_MS)
		loop_stop(sandbox->loop);
	else
		timer_start(sandbox->loop, timer, 5);
}

void sandbox_gone(struct sandbox *sandbox, int status)
{
	bool making = sandbox->spec->goal == START_MAKE_WARM;
	bool asked = sandbox->life == SANDBOX_STOPPING;

	timer_stop(&sandbox->boot_timer);
	timer_stop(&sandbox->stop_timer);
	timer_stop(&sandbox->space_timer);
	idle_stop(sandbox);
	if (making && sandbox->image_written && !sandbox->failed)
		keep_image(sandbox);
	else if (!asked && !sandbox->failed)
		explain_end(sandbox, status);
	sandbox->suspended = saving_on_gone(sandbox);
	set_life(sandbox, SANDBOX_GONE);
	sandbox->gone_ms = loop_now_ms();
	clients_stop_listening(&sandbox->clients);
	sessions_lost(&sandbox->sessions, sandbox->reason[0] ? sandbox->reason
					  : sandbox->suspended
						  ? "the sandbox was suspended"
						  : "the sandbox was stopped");
	if (sandbox->spec->remove_at_end &&
	    ftruncate(sandbox->files->qemu.disks[0], 0) < 0)
		log_warn("emptying the disk: %s", strerror(errno));
	save_state(sandbox);
	if (!making)
		unlinkat(sandbox->files->folder, "control.sock", 0);
	sandbox_event(sandbox,
		      sandbox->suspended ? "suspended"
		      : sandbox->failed  ? "failed"
					 : "stopped",
		      sandbox->reason[0]
			      ? json_pack("{s:s}", "reason", sandbox->reason)
			      : NULL);
	requests_life_changed(sandbox);
	timer_start(sandbox->loop, &sandbox->flush_timer, 0);
}

void sandbox_channels_closed(struct sandbox *sandbox)
{
	if (sandbox->life != SANDBOX_STOPPING && sandbox->life != SANDBOX_GONE)
		timer_start(sandbox->loop, &sandbox->stop_timer, CLOSED_MS);
}

void sandbox_begin(struct sandbox *sandbox)
{
	sandbox->boot_timer = (struct timer){ .name = "boot deadline",
					      .on_fire = on_boot_timer };
	sandbox->stop_timer = (struct timer){ .name = "stop deadline",
					      .on_fire = on_stop_timer };
	sandbox->space_timer = (struct timer){ .name = "disk space",
					       .on_fire = on_space_timer };
	sandbox->flush_timer = (struct timer){ .name = "last words",
					       .on_fire = on_flush_timer };
	saving_init(sandbox);
	set_life(sandbox, SANDBOX_STARTING);
	start_begin(sandbox);
	/* After the first bytes to QEMU, which it needs to go on. */
	save_state(sandbox);
	sandbox_event(sandbox, "starting", NULL);
}
