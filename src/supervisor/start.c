/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - the three ways to start, as chains of answers
 *
 * A restore asks QEMU for everything in one write and never waits for an
 * answer that it does not need; marker, WAKE and the first session's start lie
 * in the port when the guest begins to run.
 */
#include "supervisor/start.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "supervisor/qmp_reply.h"
#include "supervisor/requests.h"
#include "supervisor/sandbox.h"

static void must_succeed(void *ctx, const struct qmp_reply *reply)
{
	struct sandbox *sandbox = ctx;

	/* A lost monitor is reported by its loss. */
	if (reply && reply->kind == QMP_ERROR)
		sandbox_fail(sandbox, "QEMU: %s", reply->text);
}

static void ask(struct sandbox *sandbox, const char *command, json_t *arguments)
{
	struct error err;

	if (qmp_send(&sandbox->qmp, command, arguments, must_succeed, &err) < 0)
		sandbox_fail(sandbox, "%s", err.text);
}

static void set_capabilities(struct sandbox *sandbox)
{
	ask(sandbox, "migrate-set-capabilities",
	    json_pack("{s:[{s:s,s:b},{s:s,s:b}]}", "capabilities", "capability",
		      "x-ignore-shared", "state", 1, "capability", "events",
		      "state", 1));
}

void start_send_wake(struct sandbox *sandbox)
{
	struct message message = { .type = MESSAGE_WAKE };
	struct message_wake *wake = &message.wake;
	struct timespec now = { 0 };
	struct error err;

	/*
	 * A machine that is about to be frozen for ever gets an identity like
	 * any other; each restore gives it a new one.
	 */
	if (getrandom(wake->entropy, sizeof(wake->entropy), 0) !=
		    (ssize_t)sizeof(wake->entropy) ||
	    text_unhex(sandbox->spec->id, wake->machine_id,
		       sizeof(wake->machine_id)) < 0) {
		sandbox_fail(sandbox, "no entropy or no machine id");
		return;
	}
	wake->hostname = sandbox->spec->name;
	wake->shares = sandbox->spec->shares;
	wake->authority = sandbox->spec->authority;
	wake->git = sandbox->spec->git;
	clock_gettime(CLOCK_REALTIME, &now);
	wake->wall_clock_ns =
		(uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	if (guest_link_send(&sandbox->guest, &message, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "wake: %s", err.text);
	explicit_bzero(wake->entropy, sizeof(wake->entropy));
}

static void begin_restore(struct sandbox *sandbox)
{
	char uri[16];

	if (!sandbox->spec->marker ||
	    text_unhex(sandbox->spec->marker, sandbox->marker,
		       sizeof(sandbox->marker)) < 0) {
		sandbox_fail(sandbox, "the warm image has no marker");
		return;
	}
	text_format(uri, sizeof(uri), "fd:%d", QEMU_FD_STATE);
	set_capabilities(sandbox);
	ask(sandbox, "migrate-incoming", json_pack("{s:s}", "uri", uri));
	guest_link_restart(&sandbox->guest, sandbox->marker);
}

void start_begin(struct sandbox *sandbox)
{
	if (sandbox->spec->goal == START_RESTORE)
		begin_restore(sandbox);
	timer_start(sandbox->loop, &sandbox->boot_timer,
		    sandbox->spec->boot_timeout_ms);
}

/* One write for all: QEMU takes them one after the other. */
static void write_image(struct sandbox *sandbox)
{
	struct error err;

	guest_link_freeze(&sandbox->guest);
	phases_end(&sandbox->phases, "prepare");
	ask(sandbox, "stop", NULL);
	set_capabilities(sandbox);
	if (qmp_send_fd(&sandbox->qmp, "state",
			sandbox->files->qemu.device_state, must_succeed,
			&err) < 0) {
		sandbox_fail(sandbox, "%s", err.text);
		return;
	}
	ask(sandbox, "migrate", json_pack("{s:s}", "uri", "fd:state"));
}

static void send_prepare(struct sandbox *sandbox)
{
	struct message message = { .type = MESSAGE_PREPARE };
	struct error err;

	if (getrandom(sandbox->marker, sizeof(sandbox->marker), 0) !=
	    (ssize_t)sizeof(sandbox->marker)) {
		sandbox_fail(sandbox, "no entropy");
		return;
	}
	memcpy(message.prepare.marker, sandbox->marker,
	       sizeof(sandbox->marker));
	if (guest_link_send(&sandbox->guest, &message, &err) < 0)
		sandbox_fail(sandbox, "%s", err.text);
}

static void on_hello(struct sandbox *sandbox, const struct message_hello *hello)
{
	char release[64];

	if (sandbox->spec->goal == START_RESTORE ||
	    sandbox->life != SANDBOX_STARTING || sandbox->greeted) {
		guest_link_blame(&sandbox->guest, "an unexpected HELLO");
		return;
	}
	if (hello->version != PROTOCOL_VERSION) {
		sandbox_fail(sandbox, "the guest speaks protocol %u, not %u",
			     hello->version, PROTOCOL_VERSION);
		return;
	}
	sandbox->greeted = true;
	text_printable(hello->kernel_release, strlen(hello->kernel_release),
		       release, sizeof(release));
	log_info("guest kernel %s", release);
	phases_end(&sandbox->phases, "boot");
	if (sandbox->spec->goal == START_MAKE_WARM && !hello->primed) {
		sandbox_fail(sandbox, "the guest did not prepare itself");
		return;
	}
	start_send_wake(sandbox);
}

/* The machine is of use without its folders, too. */
static void note_problem(struct sandbox *sandbox, const char *problem)
{
	char shown[MESSAGE_PROBLEM_BYTES], text[sizeof(sandbox->warning)];

	if (!problem[0])
		return;
	text_printable(problem, strlen(problem), shown, sizeof(shown));
	text_format(text, sizeof(text), "shared folders: %s", shown);
	sandbox_lacks(sandbox, text);
}

static void on_awake(struct sandbox *sandbox, const struct message_awake *awake)
{
	/* Later ones answer a WAKE that corrected the clock. */
	if (sandbox->guest_awake)
		return;
	if (!sandbox->greeted) {
		guest_link_blame(&sandbox->guest, "AWAKE without WAKE");
		return;
	}
	phases_end(&sandbox->phases, "wake");
	note_problem(sandbox, awake->problem);
	if (sandbox->spec->goal == START_MAKE_WARM) {
		sandbox->guest_awake = true;
		send_prepare(sandbox);
	} else {
		sandbox_awake(sandbox);
	}
}

void start_on_message(struct sandbox *sandbox, const struct message *message)
{
	if (message->type == MESSAGE_HELLO)
		on_hello(sandbox, &message->hello);
	else if (message->type == MESSAGE_AWAKE)
		on_awake(sandbox, &message->awake);
	else if (sandbox->spec->goal == START_MAKE_WARM &&
		 sandbox->guest_awake && !sandbox->guest.frozen)
		write_image(sandbox);
	else
		guest_link_blame(&sandbox->guest, "an unexpected PREPARED");
}

void start_on_marker(struct sandbox *sandbox)
{
	phases_end(&sandbox->phases, "marker");
}

static void on_loaded(struct sandbox *sandbox)
{
	phases_end(&sandbox->phases, "load");
	/* The machine was stopped when it was saved, and comes back so. */
	ask(sandbox, "cont", NULL);
	/* Now and not earlier, so that the clock in it is the right one. */
	sandbox->greeted = true;
	start_send_wake(sandbox);
	requests_life_changed(sandbox);
}

static void on_written(struct sandbox *sandbox)
{
	phases_end(&sandbox->phases, "save");
	sandbox->image_written = true;
	ask(sandbox, "quit", NULL);
}

void start_on_migration(struct sandbox *sandbox, const struct qmp_reply *event)
{
	const char *status = qmp_reply_string(event, "status");
	bool making = sandbox->spec->goal == START_MAKE_WARM;

	if (strcmp(status, "failed") == 0)
		sandbox_fail(sandbox, "QEMU could not %s the machine's state",
			     making ? "write" : "load");
	else if (strcmp(status, "completed") != 0)
		return;
	else if (making)
		on_written(sandbox);
	else if (sandbox->life == SANDBOX_STARTING && !sandbox->greeted)
		on_loaded(sandbox);
}
