/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_facts.c - what QEMU, the guest and the host's clock report, brought
 * to the state machine
 */
#include "supervisor/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "supervisor/qmp_reply.h"
#include "supervisor/requests.h"
#include "supervisor/sandbox_internal.h"
#include "supervisor/start.h"

enum {
	CLOCK_SECONDS = 600, /* the guest's clock drifts */
	ONCE_STOP_MS = 10000,
};

static void on_block_error(struct sandbox *sandbox,
			   const struct qmp_reply *event)
{
	const char *action = qmp_reply_string(event, "action");

	if (strcmp(action, "stop") != 0)
		return;
	/* The disk's other errors go to the guest and stop nothing. */
	sandbox_pause(sandbox, "host disk full; goes on when there is room");
}

static void on_shutdown(struct sandbox *sandbox, const struct qmp_reply *event)
{
	sandbox->shut_down = true;
	sandbox->reset =
		strcmp(qmp_reply_string(event, "reason"), "guest-reset") == 0;
}

static void on_qmp_event(void *ctx, const struct qmp_reply *event)
{
	static const struct {
		const char *name;
		void (*handle)(struct sandbox *, const struct qmp_reply *);
	} events[] = {
		{ "MIGRATION", start_on_migration },
		{ "BLOCK_IO_ERROR", on_block_error },
		{ "SHUTDOWN", on_shutdown },
		{ "BLOCK_JOB_COMPLETED", saving_on_job },
		{ "BLOCK_JOB_CANCELLED", saving_on_job },
	};
	struct sandbox *sandbox = ctx;

	if (strcmp(event->name, "RESUME") == 0) {
		sandbox_resumed(sandbox);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (strcmp(event->name, events[i].name) == 0)
			events[i].handle(sandbox, event);
	}
}

static void on_qmp_lost(void *ctx, const char *why)
{
	sandbox_channels_closed(ctx);
}

static const struct qmp_ops qmp_ops = {
	.on_event = on_qmp_event,
	.on_lost = on_qmp_lost,
};

static void on_exit_of_qemu(void *ctx, int status)
{
	struct sandbox *sandbox = ctx;

	/*
	 * What it wrote before it ended may lie unread in the sockets: the
	 * reason of the shutdown, the last output of a session.
	 */
	qmp_drain(&sandbox->qmp);
	guest_link_drain(&sandbox->guest);
	console_drain(&sandbox->console);
	sandbox_gone(sandbox, status);
}

static const struct qemu_ops qemu_ops = {
	.on_exit = on_exit_of_qemu,
};

static void on_guest_message(void *ctx, const struct message *message)
{
	struct sandbox *sandbox = ctx;
	bool known = true;

	switch (message->type) {
	case MESSAGE_HELLO:
	case MESSAGE_AWAKE:
	case MESSAGE_PREPARED:
		start_on_message(sandbox, message);
		break;
	case MESSAGE_SESSION_STARTED:
		known = sessions_on_started(&sandbox->sessions,
					    &message->session_started);
		break;
	case MESSAGE_SESSION_EXITED:
		known = sessions_on_exited(&sandbox->sessions,
					   &message->session_exited);
		break;
	case MESSAGE_STATS:
		sandbox->stats = message->stats;
		idle_on_stats(sandbox, &message->stats);
		requests_stats_arrived(sandbox);
		break;
	default:
		guest_link_blame(&sandbox->guest,
				 "a message of the wrong direction");
		break;
	}
	/* A restored guest may still speak of one that began when its state
	 * was taken, and that nobody here has started. */
	if (!known)
		log_limited(LOG_LEVEL_WARN,
			    "news of a session that does not exist");
}

static void on_guest_stream(void *ctx, struct mux_stream *stream)
{
	struct sandbox *sandbox = ctx;

	sessions_on_stream(&sandbox->sessions, stream);
}

static void on_guest_marker(void *ctx)
{
	start_on_marker(ctx);
}

static void on_guest_broken(void *ctx, const char *why)
{
	sandbox_fail(ctx, "the guest broke the protocol: %s", why);
}

static void on_guest_closed(void *ctx)
{
	sandbox_channels_closed(ctx);
}

static const struct guest_link_ops guest_ops = {
	.on_message = on_guest_message,
	.on_stream = on_guest_stream,
	.on_marker = on_guest_marker,
	.on_broken = on_guest_broken,
	.on_closed = on_guest_closed,
};

static void on_session_start(void *ctx, struct session *session,
			     struct client *opener,
			     const struct message_session_started *reply)
{
	struct sandbox *sandbox = ctx;

	requests_session_started(sandbox, session, opener, reply);
	if (reply->pid)
		sandbox_event(sandbox, "session-started",
			      json_pack("{s:I, s:b}", "session",
					(json_int_t)reply->session, "main",
					session->main));
	/* one that did not start may be tried again with another command */
}

static void on_session_exit(void *ctx, struct session *session, uint32_t status)
{
	struct sandbox *sandbox = ctx;

	sandbox_event(sandbox, "session-exited",
		      json_pack("{s:I, s:I}", "session",
				(json_int_t)session->id, "status",
				(json_int_t)status));
	if (session->main && sandbox->spec->agent_once)
		sandbox_stop(sandbox, ONCE_STOP_MS);
}

static const struct sessions_ops sessions_ops = {
	.on_start = on_session_start,
	.on_exit = on_session_exit,
};

static void on_launcher_failed(void *ctx, const char *text)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->life == SANDBOX_STARTING)
		sandbox_fail(sandbox, "%s", text);
	else
		sandbox_lacks(sandbox, text);
}

static void on_launcher_lacks(void *ctx, const char *text)
{
	sandbox_lacks(ctx, text);
}

/* Nobody else could start what serves the guest's folders again. */
static void on_launcher_end(void *ctx)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->life != SANDBOX_STOPPING && sandbox->life != SANDBOX_GONE)
		sandbox_fail(sandbox, "bawn-launch was killed");
}

static void on_launcher_frozen(void *ctx)
{
	saving_on_frozen(ctx);
}

static void on_launcher_traffic(void *ctx)
{
	idle_on_traffic(ctx);
}

static void arm_clock(struct sandbox *sandbox)
{
	struct itimerspec when = { 0 };

	clock_gettime(CLOCK_REALTIME, &when.it_value);
	when.it_value.tv_sec += CLOCK_SECONDS;
	timerfd_settime(sandbox->clock_source.fd,
			TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
			NULL);
}

/* The time has come, or somebody set the clock (ECANCELED). */
static void on_clock(struct source *source, uint32_t events)
{
	struct sandbox *sandbox =
		CONTAINER_OF(source, struct sandbox, clock_source);
	uint64_t count;

	if (read(source->fd, &count, sizeof(count)) < 0 && errno != ECANCELED)
		return;
	if (sandbox->life == SANDBOX_RUNNING && !saving_is_busy(sandbox))
		start_send_wake(sandbox);
	arm_clock(sandbox);
}

static int open_clock(struct sandbox *sandbox, struct error *err)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	sandbox->clock_source = (struct source){ .name = "host clock",
						 .fd = fd,
						 .events = EPOLLIN,
						 .on_event = on_clock };
	if (fd < 0)
		return error_set(err, errno, "timerfd");
	arm_clock(sandbox);
	return loop_add(sandbox->loop, &sandbox->clock_source, err);
}

int sandbox_facts_open(struct sandbox *sandbox, struct error *err)
{
	struct qemu *qemu = &sandbox->qemu;
	struct files *files = sandbox->files;
	struct loop *loop = sandbox->loop;

	sandbox->launcher.on_failed = on_launcher_failed;
	sandbox->launcher.on_lacks = on_launcher_lacks;
	sandbox->launcher.on_end = on_launcher_end;
	sandbox->launcher.on_frozen = on_launcher_frozen;
	sandbox->launcher.on_traffic = on_launcher_traffic;
	sandbox->launcher.ctx = sandbox;
	sessions_init(&sandbox->sessions, loop, &sandbox->guest, &sessions_ops,
		      sandbox);
	if (qmp_open(&sandbox->qmp, loop, TAKE_FD(qemu->monitor), &qmp_ops,
		     sandbox, err) < 0 ||
	    guest_link_open(&sandbox->guest, loop, TAKE_FD(qemu->control),
			    &guest_ops, sandbox, err) < 0 ||
	    console_open(&sandbox->console, loop, TAKE_FD(qemu->console),
			 TAKE_FD(files->console), files->folder, err) < 0 ||
	    qemu_watch(qemu, loop, &qemu_ops, sandbox, err) < 0 ||
	    open_clock(sandbox, err) < 0 ||
	    launcher_watch(&sandbox->launcher, loop, err) < 0 ||
	    clients_open(&sandbox->clients, loop, files->control, getuid(),
			 &requests_ops, sandbox, err) < 0)
		return -1;
	sandbox_begin(sandbox);
	return 0;
}

void sandbox_facts_close(struct sandbox *sandbox)
{
	sessions_lost(&sandbox->sessions, "the supervisor ends");
	clients_close(&sandbox->clients);
	qmp_close(&sandbox->qmp);
	guest_link_close(&sandbox->guest);
	console_close(&sandbox->console);
	loop_del(&sandbox->clock_source);
	close(sandbox->clock_source.fd);
	timer_stop(&sandbox->boot_timer);
	timer_stop(&sandbox->stop_timer);
	timer_stop(&sandbox->space_timer);
	timer_stop(&sandbox->flush_timer);
	idle_stop(sandbox);
	saving_release(sandbox);
	qemu_release(&sandbox->qemu);
	/* Last: from then on others clean up. */
	launcher_close(&sandbox->launcher);
}
