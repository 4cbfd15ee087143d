/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.c - keeps the programs running that serve a guest's ports
 */
#include "launch/keeper_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

enum {
	RETRY_FIRST_MS = 10,
	RETRY_LAST_MS = 1000,
	DEATHS_WINDOW_MS = 60000,
	END_MS = 5000, /* for a planned end; its disk may be slow */
};

static const char *const life_names[] = {
	[KEEPER_IDLE] = "idle",       [KEEPER_STARTING] = "starting",
	[KEEPER_SERVING] = "serving", [KEEPER_ENDING] = "starting",
	[KEEPER_WAITING] = "waiting", [KEEPER_GIVEN_UP] = "given-up",
};
_Static_assert(ARRAY_SIZE(life_names) == KEEPER_LIVES, "a name for each");

static void on_control(struct source *source, uint32_t events);
static void on_errors(struct source *source, uint32_t events);
static void on_exit_event(struct source *source, uint32_t events);
static void on_retry(struct timer *timer);
static void on_patience(struct timer *timer);

const char *keeper_life_name(enum keeper_life life)
{
	return life_names[life];
}

static struct source source_of(const char *name, source_fn *fn)
{
	return (struct source){
		.name = name, .fd = -1, .events = EPOLLIN, .on_event = fn
	};
}

int keeper_init(struct keeper *keeper, const struct keeper_row *row,
		struct loop *loop, int port, int folder, const char *marker,
		struct error *err)
{
	*keeper = (struct keeper){ .row = row,
				   .loop = loop,
				   .port = port,
				   .folder = folder,
				   .child = { 0, -1 },
				   .has_marker = marker != NULL };
	keeper->retry =
		(struct timer){ .name = "start again", .on_fire = on_retry };
	keeper->patience =
		(struct timer){ .name = "planned end", .on_fire = on_patience };
	keeper->control = source_of(row->program, on_control);
	keeper->errors = source_of("its errors", on_errors);
	keeper->exit_source = source_of("its exit", on_exit_event);
	if (marker &&
	    text_unhex(marker, keeper->marker, sizeof(keeper->marker)) < 0)
		return error_set(err, 0, "marker: 64 hex digits");
	return 0;
}

static void close_source(struct source *source)
{
	loop_del(source);
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

static void close_channels(struct keeper *keeper)
{
	close_source(&keeper->control);
	close_source(&keeper->errors);
	keeper->error_lines.len = 0;
	loop_del(&keeper->exit_source); /* its descriptor is the child's */
}

static void give_up(struct keeper *keeper)
{
	char text[KEEPER_LINE_MAX + 64];

	keeper->life = KEEPER_GIVEN_UP;
	text_format(text, sizeof(text), "%s: %s", keeper->row->lost,
		    keeper->why);
	log_error("%s", text);
	/* What once worked may again, when whoever kills it is done. */
	if (keeper->served)
		timer_start(keeper->loop, &keeper->retry, DEATHS_WINDOW_MS);
	keeper->ops->on_failed(keeper->ctx, text);
	keeper->ops->on_change(keeper->ctx);
}

/* -1: keeper->why says why there is none. */
static int begin(struct keeper *keeper)
{
	struct error err = { 0 };

	keeper->welcomed = false;
	keeper->why[0] = '\0';
	keeper->life = KEEPER_STARTING;
	if (keeper_spawn(keeper, &err) == 0) {
		keeper->exit_source.fd = keeper->child.pidfd;
		if (loop_add(keeper->loop, &keeper->exit_source, &err) == 0 &&
		    loop_add(keeper->loop, &keeper->control, &err) == 0 &&
		    loop_add(keeper->loop, &keeper->errors, &err) == 0)
			return 0;
		keeper_kill(keeper);
		child_wait(&keeper->child, &(int){ 0 }, NULL);
		keeper->child = (struct child){ 0, -1 };
	}
	close_channels(keeper);
	text_copy(keeper->why, sizeof(keeper->why), err.text);
	return -1;
}

void keeper_serve(struct keeper *keeper, json_t *settings)
{
	json_decref(keeper->settings);
	keeper->settings = settings;
	if (begin(keeper) < 0)
		give_up(keeper);
}

void keeper_take(struct keeper *keeper, json_t *settings)
{
	/* Back to what has worked, not to what was on trial. */
	if (keeper->settings_back)
		json_decref(keeper->settings);
	else
		keeper->settings_back = keeper->settings;
	keeper->settings = settings;
	keeper->refused[0] = '\0';
}

void keeper_settle(struct keeper *keeper)
{
	if (!keeper->settings_back)
		return;
	json_decref(keeper->settings_back);
	keeper->settings_back = NULL;
	if (keeper->row->on_settled)
		keeper->row->on_settled(keeper);
}

void keeper_refuse(struct keeper *keeper, const char *why)
{
	text_copy(keeper->refused, sizeof(keeper->refused), why);
	json_decref(keeper->settings);
	keeper->settings = keeper->settings_back;
	keeper->settings_back = NULL;
	if (keeper->row->on_refused)
		keeper->row->on_refused(keeper);
}

void keeper_replace(struct keeper *keeper, json_t *settings)
{
	keeper_take(keeper, settings);
	keeper->welcomed = false;
	timer_stop(&keeper->retry);
	if (keeper_runs(keeper)) {
		keeper->life = KEEPER_ENDING;
		syscall(SYS_pidfd_send_signal, keeper->child.pidfd, SIGTERM,
			NULL, 0);
		timer_start(keeper->loop, &keeper->patience, END_MS);
	} else if (begin(keeper) < 0) {
		give_up(keeper);
	}
}

static void on_patience(struct timer *timer)
{
	struct keeper *keeper = CONTAINER_OF(timer, struct keeper, patience);

	if (keeper->life == KEEPER_ENDING)
		keeper_kill(keeper);
}

void keeper_end(struct keeper *keeper)
{
	keeper->closing = true;
	timer_stop(&keeper->retry);
}

void keeper_kill(struct keeper *keeper)
{
	if (keeper_runs(keeper))
		syscall(SYS_pidfd_send_signal, keeper->child.pidfd, SIGKILL,
			NULL, 0);
}

void keeper_freeze(struct keeper *keeper)
{
	siginfo_t info;

	keeper->frozen = true;
	if (!keeper_runs(keeper) ||
	    syscall(SYS_pidfd_send_signal, keeper->child.pidfd, SIGSTOP, NULL,
		    0) < 0)
		return;
	/* Its end, should that come instead, is left for the exit's source. */
	waitid(P_PID, (id_t)keeper->child.pid, &info,
	       WSTOPPED | WEXITED | WNOWAIT);
}

void keeper_thaw(struct keeper *keeper)
{
	keeper->frozen = false;
	if (keeper_runs(keeper))
		syscall(SYS_pidfd_send_signal, keeper->child.pidfd, SIGCONT,
			NULL, 0);
}

bool keeper_runs(const struct keeper *keeper)
{
	return keeper->child.pid > 0;
}

void keeper_ready(struct keeper *keeper)
{
	if (keeper->life != KEEPER_STARTING)
		return;
	keeper->life = KEEPER_SERVING;
	keeper->served = true;
	keeper_settle(keeper);
	log_info("%s serves, pid %d", keeper->row->program,
		 (int)keeper->child.pid);
	if (keeper->row->on_ready)
		keeper->row->on_ready(keeper);
}

void keeper_welcomed(struct keeper *keeper)
{
	memcpy(keeper->marker, keeper->next_marker, sizeof(keeper->marker));
	keeper->has_marker = true;
	keeper->welcomed = true;
}

/* What it writes may come from a guest: log_write() makes it printable. */
static void on_error_line(void *ctx, const char *line)
{
	struct keeper *keeper = ctx;
	size_t len = strlen(keeper->row->program);
	const char *text = line;

	if (text_starts(text, keeper->row->program) &&
	    text_starts(text + len, ": "))
		text += len + 2;
	log_limited(LOG_LEVEL_INFO, "%s: %s", keeper->row->program, text);
	if (text_starts(text, "error: "))
		text += strlen("error: ");
	text_printable(text, strlen(text), keeper->why, sizeof(keeper->why));
}

bool keeper_read_lines(struct source *source, struct keeper_lines *lines,
		       void (*take)(void *ctx, const char *line), void *ctx)
{
	ssize_t n = read(source->fd, lines->bytes + lines->len,
			 sizeof(lines->bytes) - 1 - lines->len);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		loop_del(source);
		return false;
	}
	lines->len += (size_t)n;
	lines->bytes[lines->len] = '\0';
	while ((end = memchr(lines->bytes, '\n', lines->len)) ||
	       lines->len == sizeof(lines->bytes) - 1) {
		size_t used = lines->len;

		if (end) {
			used = (size_t)(end - lines->bytes) + 1;
			*end = '\0';
		}
		take(ctx, lines->bytes);
		lines->len -= used;
		memmove(lines->bytes, lines->bytes + used, lines->len);
	}
	return true;
}

static void on_control(struct source *source, uint32_t events)
{
	struct keeper *keeper = CONTAINER_OF(source, struct keeper, control);

	keeper->row->read_control(keeper);
}

static bool read_errors(struct keeper *keeper)
{
	return keeper_read_lines(&keeper->errors, &keeper->error_lines,
				 on_error_line, keeper);
}

static void on_errors(struct source *source, uint32_t events)
{
	read_errors(CONTAINER_OF(source, struct keeper, errors));
}

/* How long until the next try; -1: this was one too many. */
static int count_death(struct keeper *keeper)
{
	uint64_t now = loop_now_ms(), oldest;
	unsigned recent = 0;
	int delay;

	keeper->deaths_ms[keeper->deaths++ % KEEPER_DEATHS_MAX] = now;
	oldest = now > DEATHS_WINDOW_MS ? now - DEATHS_WINDOW_MS : 0;
	for (unsigned i = 0; i < KEEPER_DEATHS_MAX; i++)
		recent += keeper->deaths_ms[i] > oldest;
	if (recent >= KEEPER_DEATHS_MAX)
		return -1;
	if (recent == 1)
		return 0;
	delay = RETRY_FIRST_MS << recent;
	return delay > RETRY_LAST_MS ? RETRY_LAST_MS : delay;
}

static void on_retry(struct timer *timer)
{
	struct keeper *keeper = CONTAINER_OF(timer, struct keeper, retry);
	int delay;

	keeper->restarts++;
	if (begin(keeper) == 0)
		return;
	delay = count_death(keeper);
	if (delay < 0)
		give_up(keeper);
	else
		timer_start(keeper->loop, timer, (uint64_t)delay);
}

/* The new settings do not work: the old ones did. */
static void take_back(struct keeper *keeper)
{
	keeper_refuse(keeper, keeper->why);
	if (begin(keeper) < 0)
		give_up(keeper);
	else
		keeper->ops->on_change(keeper->ctx);
}

static void on_death(struct keeper *keeper, int status)
{
	int delay;

	if (WIFSIGNALED(status))
		text_format(keeper->why, sizeof(keeper->why),
			    "%s was killed by signal %d", keeper->row->program,
			    WTERMSIG(status));
	else if (!keeper->why[0])
		text_format(keeper->why, sizeof(keeper->why),
			    "%s ended with code %d", keeper->row->program,
			    WEXITSTATUS(status));
	log_warn("%s", keeper->why);
	if (keeper->life == KEEPER_STARTING && keeper->settings_back) {
		take_back(keeper);
		return;
	}
	if (!keeper->served) {
		give_up(keeper);
		return;
	}
	delay = count_death(keeper);
	if (delay < 0) {
		give_up(keeper);
		return;
	}
	keeper->life = KEEPER_WAITING;
	timer_start(keeper->loop, &keeper->retry, (uint64_t)delay);
}

static void on_exit_event(struct source *source, uint32_t events)
{
	struct keeper *keeper =
		CONTAINER_OF(source, struct keeper, exit_source);
	bool planned = keeper->life == KEEPER_ENDING;
	int status = 0;

	/* Its last words first: they say why, and what the guest knows. */
	while (keeper->row->read_control(keeper))
		;
	while (read_errors(keeper))
		;
	loop_del(source);
	child_wait(&keeper->child, &status, NULL);
	keeper->child = (struct child){ 0, -1 };
	close_channels(keeper);
	timer_stop(&keeper->patience);
	if (keeper->row->on_gone)
		keeper->row->on_gone(keeper);
	if (keeper->closing) {
		keeper->life = KEEPER_IDLE;
	} else if (planned) {
		if (begin(keeper) < 0)
			give_up(keeper);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		/* QEMU has closed the port: the sandbox ends. */
		keeper->life = KEEPER_IDLE;
	} else {
		on_death(keeper, status);
	}
	keeper->ops->on_change(keeper->ctx);
}

void keeper_release(struct keeper *keeper)
{
	timer_stop(&keeper->retry);
	timer_stop(&keeper->patience);
	close_channels(keeper);
	json_decref(keeper->settings);
	json_decref(keeper->settings_back);
}
