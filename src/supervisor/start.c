/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - the three ways to start, as chains of answers
 *
 * A restore asks QEMU for everything in one write and never waits for an
 * answer that it does not need; marker, WAKE and the first session's start lie
 * in the port when the guest begins to run.
 */
#include "supervisor/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "state/snapshot.h"
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

/* Its end is told by an event. */
static void load_state(struct sandbox *sandbox, const char *uri)
{
	ask(sandbox, "migrate-set-capabilities",
	    json_pack("{s:[{s:s,s:b}]}", "capabilities", "capability", "events",
		      "state", 1));
	ask(sandbox, "migrate-incoming", json_pack("{s:s}", "uri", uri));
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
	load_state(sandbox, uri);
	guest_link_restart(&sandbox->guest, sandbox->marker);
}

void start_begin(struct sandbox *sandbox)
{
	if (sandbox->spec->goal == START_RESTORE)
		begin_restore(sandbox);
	timer_start(sandbox->loop, &sandbox->boot_timer,
		    sandbox->spec->boot_timeout_ms);
}

static void on_written(void *ctx, const struct qmp_reply *reply)
{
	struct sandbox *sandbox = ctx;

	must_succeed(ctx, reply);
	if (!reply || reply->kind == QMP_ERROR)
		return;
	phases_end(&sandbox->phases, "save");
	sandbox->image_written = true;
	ask(sandbox, "quit", NULL);
}

/*
 * The state of all devices and no RAM: that is in its file already. An
 * ordinary migration would list RAM blocks, also the window's, and refuse to
 * load because that one has no place before its device has. In spite of its
 * name the command has nothing to do with Xen. Not live: the disks stay ours.
 */
static void save_state(struct sandbox *sandbox)
{
	json_t *arguments =
		json_pack("{s:s, s:b}", "filename",
			  "/dev/fdset/" QMP_SET_STATE_TEXT, "live", 0);
	struct error err;

	if (qmp_send_fd(&sandbox->qmp, QMP_SET_STATE,
			sandbox->files->qemu.device_state, must_succeed,
			&err) < 0 ||
	    qmp_send(&sandbox->qmp, "xen-save-devices-state", arguments,
		     on_written, &err) < 0)
		sandbox_fail(sandbox, "%s", err.text);
}

/* One write for all: QEMU takes them one after the other. */
static void write_image(struct sandbox *sandbox)
{
	guest_link_freeze(&sandbox->guest);
	phases_end(&sandbox->phases, "prepare");
	ask(sandbox, "stop", NULL);
	save_state(sandbox);
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
	sandbox->marker[0] |= MUX_MARKER_BIT;
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
		saving_on_prepared(sandbox);
}

void start_on_marker(struct sandbox *sandbox)
{
	phases_end(&sandbox->phases, "marker");
}

/*
 * From here on disk and memory move on together: this snapshot must never be
 * loaded again, not even after a power cut. RAM stays, without a name.
 */
static int forget_snapshot(struct sandbox *sandbox, struct error *err)
{
	int machine = sandbox->files->folder;
	AUTO_CLOSE int folder =
		openat(machine, SNAPSHOT_SUSPENDED,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0 || unlinkat(folder, SNAPSHOT_FILE, 0) < 0 ||
	    fsync(folder) < 0)
		return error_set(err, errno, "the suspended state");
	unlinkat(folder, SNAPSHOT_RAM, 0);
	unlinkat(folder, SNAPSHOT_STATE, 0);
	unlinkat(machine, SNAPSHOT_SUSPENDED, AT_REMOVEDIR);
	return 0;
}

static void on_loaded(struct sandbox *sandbox)
{
	struct error err;

	phases_end(&sandbox->phases, "load");
	if (sandbox->spec->consume && forget_snapshot(sandbox, &err) < 0) {
		sandbox_fail(sandbox, "%s", err.text);
		return;
	}
	/* The machine was stopped when it was saved, and comes back so. */
	ask(sandbox, "cont", NULL);
	/* Now and not earlier, so that the clock in it is the right one. */
	sandbox->greeted = true;
	start_send_wake(sandbox);
	sessions_restore(&sandbox->sessions, sandbox->spec->sessions);
	requests_life_changed(sandbox);
}

void start_on_migration(struct sandbox *sandbox, const struct qmp_reply *event)
{
	const char *status = qmp_reply_string(event, "status");

	if (strcmp(status, "failed") == 0)
		sandbox_fail(sandbox,
			     "QEMU could not load the machine's state");
	else if (strcmp(status, "completed") == 0 &&
		 sandbox->life == SANDBOX_STARTING && !sandbox->greeted)
		on_loaded(sandbox);
}
