/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c - the talk with the supervisor, once the machine is up
 */
#include "guest/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "guest/files_sync.h"
#include "guest/gate.h"
#include "guest/git_identity.h"
#include "guest/modules.h"
#include "guest/power.h"
#include "guest/prime.h"
#include "guest/stats.h"
#include "guest/trust.h"
#include "proto/messages.h"

#define FREEZE_MS 2000
#define STOP_MS 3000
#define KILL_MS 1000
#define FINISH_MS 3000
#define MESSAGE_BYTES 512

/* Nobody is left to talk to; the disk is still worth its last writes. */
static _Noreturn void give_up(const char *why)
{
	log_error("%s: power off", why);
	power_off();
}

static void send(struct guest *guest, const struct message *message)
{
	uint8_t bytes[MESSAGE_BYTES];
	long len = message_encode(message, bytes, sizeof(bytes));

	if (len < 0 || mux_send_message(&guest->mux, bytes, (size_t)len))
		give_up("the host does not listen");
}

static void send_plain(struct guest *guest, enum message_type type)
{
	struct message message = { .type = type };

	send(guest, &message);
}

static void send_hello(struct guest *guest)
{
	struct message message = { .type = MESSAGE_HELLO };
	struct utsname name = { 0 };

	uname(&name);
	message.hello.version = PROTOCOL_VERSION;
	message.hello.kernel_release = name.release;
	message.hello.primed = guest->prime;
	send(guest, &message);
}

static void send_awake(struct guest *guest, const char *problem)
{
	struct message message = { .type = MESSAGE_AWAKE,
				   .awake = { .problem = problem } };

	timer_stop(&guest->folders);
	send(guest, &message);
}

static void on_folders(void *ctx)
{
	struct guest *guest = ctx;

	if (guest->folders.loop)
		send_awake(guest, guest->files.problem);
}

static void on_folders_timer(struct timer *timer)
{
	struct guest *guest = CONTAINER_OF(timer, struct guest, folders);

	gate_open();
	send_awake(guest, "the shared folders did not come in time");
}

/* Programs wait behind the gate; what else the host wants goes on. */
static void answer_wake(struct guest *guest, uint32_t shares)
{
	if (!shares) {
		send_awake(guest, "");
	} else if (!files_works(&guest->files)) {
		send_awake(guest, "this machine cannot share folders");
	} else {
		gate_require();
		if (gate_is_open())
			send_awake(guest, guest->files.problem);
		else
			timer_start(guest->loop, &guest->folders,
				    FILES_WAIT_MS);
	}
}

/* The disk came back with this memory: what was installed is still there. */
static bool is_news(char **last, const char *text)
{
	if (*last && !strcmp(*last, text))
		return false;
	free(*last);
	*last = xstrdup(text);
	return true;
}

static void wake(struct guest *guest, const struct message *message)
{
	/* Who runs before this would see the clock of the snapshot. */
	identity_wake(&guest->identity, &message->wake);
	host_keys_wake(&guest->host_keys, message->wake.machine_id);
	if (is_news(&guest->authority, message->wake.authority))
		trust_install("", message->wake.authority);
	if (is_news(&guest->git, message->wake.git))
		git_identity_install("", message->wake.git);
	cgroups_thaw(&guest->cgroups);
	sessions_resume(&guest->sessions);
	if (guest->state != GUEST_WAITING) {
		/* ASLEEP: a snapshot was taken, and this machine goes on. */
		guest->state = GUEST_RUNNING;
		send_awake(guest, "");
		return;
	}
	sessions_hold_tidy(&guest->sessions);
	guest->state = GUEST_RUNNING;
	answer_wake(guest, message->wake.shares);
}

static void prepare(struct guest *guest, const struct message *message)
{
	struct files_sync sync = { .go = -1 };

	memcpy(guest->marker, message->prepare.marker, sizeof(guest->marker));
	/* While programs still run: it may take long. What they write from
	 * here on is in the snapshot's memory. */
	host_keys_note(&guest->host_keys);
	if (files_works(&guest->files))
		files_sync_begin(&sync);
	power_sync();
	/* Each machine that goes on from here would have to make one first. */
	sessions_refill(&guest->sessions);
	guest->state = GUEST_PREPARING;
	sessions_pause(&guest->sessions);
	/* Without one there is nothing to thaw after the restore either. */
	if ((sessions_any(&guest->sessions) || guest->engine.was_used) &&
	    cgroups_freeze(&guest->cgroups, FREEZE_MS))
		log_warn("sessions do not stand still");
	files_sync_end(&sync);
	files_prepare(&guest->files, guest->marker);
	net_prepare(&guest->net, guest->marker);
}

/* The sessions are gone; what they left in memory belongs to the host. */
static void finish(struct guest *guest)
{
	port_flush(&guest->port); /* the last SESSION_EXITED */
	guest->ending = GUEST_FINISHING;
	host_keys_note(&guest->host_keys);
	if (!files_works(&guest->files))
		power_off();
	files_finish(&guest->files);
	timer_start(guest->loop, &guest->stop, FINISH_MS);
}

static void stop(struct guest *guest, const struct message *message)
{
	if (guest->state == GUEST_STOPPING)
		return;
	guest->state = GUEST_STOPPING;
	guest->sessions.closing = true;
	engine_stop(&guest->engine);
	cgroups_thaw(&guest->cgroups);
	sessions_resume(&guest->sessions);
	power_ask_all();
	sessions_hang_up(&guest->sessions);
	/* Without a child no SIGCHLD will tell us that the last one ended. */
	guest->ending =
		cgroups_any(&guest->cgroups) ? GUEST_ASKED : GUEST_KILLED;
	timer_start(guest->loop, &guest->stop,
		    guest->ending == GUEST_ASKED ? STOP_MS : 0);
}

static void on_stop_timer(struct timer *timer)
{
	struct guest *guest = CONTAINER_OF(timer, struct guest, stop);

	if (guest->ending == GUEST_FINISHING)
		power_off();
	if (guest->ending == GUEST_KILLED) {
		finish(guest);
		return;
	}
	cgroups_kill(&guest->cgroups);
	guest->ending = GUEST_KILLED;
	timer_start(guest->loop, timer, KILL_MS);
}

static void session_start(struct guest *guest, const struct message *message)
{
	sessions_start(&guest->sessions, &message->session_start,
		       guest->payload, guest->payload_len);
}

static void session_signal(struct guest *guest, const struct message *message)
{
	sessions_signal(&guest->sessions, message->session_signal.session,
			message->session_signal.signal);
}

static void session_resize(struct guest *guest, const struct message *message)
{
	sessions_resize(&guest->sessions, message->session_resize.session,
			message->session_resize.rows,
			message->session_resize.cols);
}

static void session_attach(struct guest *guest, const struct message *message)
{
	sessions_attach(&guest->sessions, &message->session_attach);
}

static void session_kill(struct guest *guest, const struct message *message)
{
	sessions_kill(&guest->sessions, message->session_kill.session);
}

static void stats(struct guest *guest, const struct message *message)
{
	struct message answer = { .type = MESSAGE_STATS };

	stats_collect(guest->cgroups.top, &answer.stats);
	if (guest->sessions.spare.pid > 0 && answer.stats.processes)
		answer.stats.processes--; /* it does nothing yet */
	send(guest, &answer);
}

static const struct {
	void (*handle)(struct guest *guest, const struct message *message);
	unsigned states; /* in which it is understood */
} handlers[MESSAGE_TYPES] = {
	[MESSAGE_WAKE] = { wake, 1 << GUEST_WAITING | 1 << GUEST_RUNNING |
					 1 << GUEST_PREPARING |
					 1 << GUEST_PREPARED |
					 1 << GUEST_ASLEEP },
	[MESSAGE_SESSION_START] = { session_start, 1 << GUEST_RUNNING },
	[MESSAGE_SESSION_SIGNAL] = { session_signal, 1 << GUEST_RUNNING },
	[MESSAGE_SESSION_RESIZE] = { session_resize, 1 << GUEST_RUNNING },
	[MESSAGE_SESSION_ATTACH] = { session_attach, 1 << GUEST_RUNNING },
	[MESSAGE_SESSION_KILL] = { session_kill,
				   1 << GUEST_RUNNING | 1 << GUEST_STOPPING },
	[MESSAGE_PREPARE] = { prepare, 1 << GUEST_RUNNING },
	[MESSAGE_POWER_OFF] = { stop, 1 << GUEST_RUNNING |
					      1 << GUEST_PREPARING |
					      1 << GUEST_STOPPING },
	[MESSAGE_STATS] = { stats, 1 << GUEST_RUNNING },
};

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct guest *guest = ctx;
	struct message message;

	guest->payload = payload;
	guest->payload_len = len;
	if (message_decode(payload, len, &message))
		give_up("the host sent a broken message");
	if (!handlers[message.type].handle)
		give_up("the host sent a message that is the guest's");
	if (handlers[message.type].states & 1u << guest->state)
		handlers[message.type].handle(guest, &message);
	else if (guest->state == GUEST_WAITING)
		give_up("the host did not begin with WAKE");
	else
		log_debug("%s dropped in state %d", message_name(message.type),
			  guest->state);
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	struct guest *guest = ctx;

	/* Restored: the host's ends of all streams are gone, and nobody has
	 * hung up. */
	if (guest->state == GUEST_ASLEEP && stream->closed)
		sessions_detach(&guest->sessions);
	else
		sessions_on_stream(&guest->sessions, stream);
}

static void on_marker(void *ctx)
{
	struct guest *guest = ctx;

	sessions_detach(&guest->sessions);
	mux_send_marker(&guest->mux, guest->marker);
	guest->state = GUEST_WAITING;
}

static const struct mux_ops mux_ops = {
	.on_message = on_message,
	.on_stream = on_stream,
	.on_marker = on_marker,
};

static void on_broken(void *ctx, const char *why)
{
	give_up(why);
}

static void on_signal(void *ctx, const struct signalfd_siginfo *info)
{
	struct guest *guest = ctx;
	int status;
	pid_t pid;

	if (info->ssi_signo != SIGCHLD)
		return; /* Ctrl-Alt-Del and what the guest's root sends us */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!files_on_exit(&guest->files, pid) &&
		    !net_on_exit(&guest->net, pid) &&
		    !host_keys_on_exit(&guest->host_keys, pid) &&
		    !engine_on_exit(&guest->engine, pid))
			sessions_on_exit(&guest->sessions, pid, status);
	}
	if (guest->state != GUEST_STOPPING)
		return;
	if (guest->ending != GUEST_FINISHING) {
		if (!cgroups_any(&guest->cgroups))
			finish(guest);
	} else if (!files_works(&guest->files)) {
		power_off();
	}
}

/* The end of a round: everything that it led to leaves together. */
static void finish_round(struct guest *guest)
{
	bool all = port_flush(&guest->port);

	if (all && guest->state == GUEST_PREPARING) {
		send_plain(guest, MESSAGE_PREPARED);
		guest->state = GUEST_PREPARED;
		all = port_flush(&guest->port);
	}
	if (all && guest->state == GUEST_PREPARED) {
		mux_watch_marker(&guest->mux, guest->marker);
		guest->state = GUEST_ASLEEP;
	}
	if (guest->sessions.stuck)
		give_up("the host does not listen");
	sessions_tidy_later(&guest->sessions);
}

static int start(struct guest *guest, int port_fd, struct error *err)
{
	sigset_t signals;

	guest->loop = loop_new(err);
	if (!guest->loop)
		return -1;
	guest->state = GUEST_WAITING;
	guest->stop =
		(struct timer){ .name = "power off", .on_fire = on_stop_timer };
	guest->folders = (struct timer){ .name = "shared folders",
					 .on_fire = on_folders_timer };
	guest->files.on_ready = on_folders;
	guest->files.ctx = guest;
	mux_init(&guest->mux, &mux_control_limits, &mux_ops, guest);
	sessions_init(&guest->sessions, guest->loop, &guest->mux,
		      &guest->cgroups, &guest->files);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	if (loop_signals(guest->loop, &signals, on_signal, guest, err))
		return -1;
	guest->port.mux = &guest->mux;
	guest->port.on_broken = on_broken;
	guest->port.ctx = guest;
	return port_start(&guest->port, guest->loop, port_fd, err);
}

int guest_run(struct guest *guest, int port_fd, struct error *err)
{
	guest->host_keys.root = "";
	if (start(guest, port_fd, err))
		return -1;
	modules_wait(guest->prime ? MODULES_ALL : MODULES_GATE);
	if (guest->prime) {
		/* Also warms the paths of our own code. */
		prime_run(&guest->cgroups);
	}
	files_start(&guest->files, guest->loop);
	net_start(&guest->net, guest->loop);
	engine_start(&guest->engine, guest->loop, &guest->cgroups);
	sessions_refill(&guest->sessions);
	send_hello(guest);
	do
		finish_round(guest);
	while (!loop_step(guest->loop, -1, err));
	return -1;
}
