/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.c - keeps bawn-files running
 */
#include "launch/keeper_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
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

static void on_control(struct source *source, uint32_t events);
static void on_errors(struct source *source, uint32_t events);
static void on_exit_event(struct source *source, uint32_t events);
static void on_retry(struct timer *timer);
static void on_patience(struct timer *timer);

static void line_init(struct keeper_line *line, const char *name, source_fn *fn)
{
	*line = (struct keeper_line){ .source = { .name = name,
						  .fd = -1,
						  .events = EPOLLIN,
						  .on_event = fn } };
}

int keeper_init(struct keeper *keeper, struct loop *loop, int port, int folder,
		const char *marker, struct error *err)
{
	*keeper = (struct keeper){ .loop = loop,
				   .port = port,
				   .folder = folder,
				   .child = { 0, -1 },
				   .has_marker = marker != NULL };
	keeper->retry =
		(struct timer){ .name = "files again", .on_fire = on_retry };
	keeper->patience =
		(struct timer){ .name = "files end", .on_fire = on_patience };
	line_init(&keeper->control, "files control", on_control);
	line_init(&keeper->errors, "files errors", on_errors);
	keeper->memory = memfd_create("nodes", MFD_CLOEXEC);
	if (keeper->memory < 0)
		return error_set(err, errno, "memory file");
	if (marker &&
	    text_unhex(marker, keeper->marker, sizeof(keeper->marker)) < 0)
		return error_set(err, 0, "marker: 64 hex digits");
	return 0;
}

static void close_line(struct keeper_line *line)
{
	loop_del(&line->source);
	if (line->source.fd >= 0)
		close(line->source.fd);
	line->source.fd = -1;
	line->len = 0;
}

static void close_channels(struct keeper *keeper)
{
	close_line(&keeper->control);
	close_line(&keeper->errors);
	loop_del(&keeper->exit_source);
}

static void give_up(struct keeper *keeper)
{
	char text[KEEPER_LINE_MAX + 64];

	keeper->life = KEEPER_GIVEN_UP;
	text_format(text, sizeof(text), "the shared folders are not served: %s",
		    keeper->why);
	log_error("%s", text);
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
		keeper->exit_source =
			(struct source){ .name = "files exit",
					 .fd = keeper->child.pidfd,
					 .events = EPOLLIN,
					 .on_event = on_exit_event };
		if (loop_add(keeper->loop, &keeper->exit_source, &err) == 0 &&
		    loop_add(keeper->loop, &keeper->control.source, &err) ==
			    0 &&
		    loop_add(keeper->loop, &keeper->errors.source, &err) == 0)
			return 0;
		keeper_kill(keeper);
		child_wait(&keeper->child, &(int){ 0 }, NULL);
		keeper->child = (struct child){ 0, -1 };
	}
	close_channels(keeper);
	text_copy(keeper->why, sizeof(keeper->why), err.text);
	return -1;
}

void keeper_serve(struct keeper *keeper, json_t *files)
{
	json_decref(keeper->files);
	keeper->files = files;
	if (begin(keeper) < 0)
		give_up(keeper);
}

static uint64_t mounted_shares(const json_t *files)
{
	uint64_t bits = 0;
	json_t *share;
	size_t i;

	json_array_foreach(json_object_get(files, "shares"), i, share)
	{
		if (i < KEEPER_SHARES_MAX &&
		    !json_is_true(json_object_get(share, "gone")))
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

void keeper_change(struct keeper *keeper, json_t *files)
{
	json_decref(keeper->files_back);
	keeper->files_back = keeper->files;
	keeper->files = files;
	keeper->refused[0] = '\0';
	keeper->welcomed = false;
	keeper->initialised &= mounted_shares(files);
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

bool keeper_settled(const struct keeper *keeper)
{
	uint64_t wanted = mounted_shares(keeper->files);

	return keeper->life == KEEPER_SERVING && keeper->welcomed &&
	       (wanted & ~keeper->initialised) == 0;
}

int keeper_mark(struct keeper *keeper, const char *label)
{
	char line[KEEPER_LINE_MAX];
	size_t len;

	if (keeper->life != KEEPER_SERVING ||
	    text_format(line, sizeof(line), "mark %s\n", label) < 0)
		return -1;
	len = strlen(line);
	return write(keeper->control.source.fd, line, len) == (ssize_t)len ? 0
									   : -1;
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

bool keeper_runs(const struct keeper *keeper)
{
	return keeper->child.pid > 0;
}

static void on_ready(struct keeper *keeper)
{
	if (keeper->life != KEEPER_STARTING)
		return;
	keeper->life = KEEPER_SERVING;
	keeper->served = true;
	json_decref(keeper->files_back);
	keeper->files_back = NULL;
	log_info("bawn-files serves, pid %d", (int)keeper->child.pid);
}

static void on_control_line(struct keeper *keeper, const char *line)
{
	uint64_t share;

	if (strcmp(line, "ready") == 0) {
		on_ready(keeper);
	} else if (strcmp(line, "welcomed") == 0) {
		memcpy(keeper->marker, keeper->next_marker,
		       sizeof(keeper->marker));
		keeper->has_marker = true;
		keeper->welcomed = true;
	} else if (text_starts(line, "initialised ") &&
		   text_to_u64(line + strlen("initialised "), 0,
			       KEEPER_SHARES_MAX - 1, &share) == 0) {
		keeper->initialised |= UINT64_C(1) << share;
	} else if (text_starts(line, "marked ")) {
		keeper->ops->on_mark(keeper->ctx, NULL);
	} else if (text_starts(line, "failed ")) {
		keeper->ops->on_mark(keeper->ctx, line + strlen("failed "));
	} else {
		log_limited(LOG_LEVEL_WARN, "bawn-files: unknown line");
	}
	keeper->ops->on_change(keeper->ctx);
}

/* What it writes may come from a guest: log_write() makes it printable. */
static void on_error_line(struct keeper *keeper, const char *line)
{
	const char *text = line;

	if (text_starts(text, "bawn-files: "))
		text += strlen("bawn-files: ");
	log_limited(LOG_LEVEL_INFO, "bawn-files: %s", text);
	if (text_starts(text, "error: "))
		text += strlen("error: ");
	text_printable(text, strlen(text), keeper->why, sizeof(keeper->why));
}

/* False: there is nothing more to read now. */
static bool read_lines(struct keeper *keeper, struct keeper_line *line,
		       void (*take)(struct keeper *, const char *))
{
	ssize_t n = read(line->source.fd, line->bytes + line->len,
			 sizeof(line->bytes) - 1 - line->len);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		loop_del(&line->source);
		return false;
	}
	line->len += (size_t)n;
	line->bytes[line->len] = '\0';
	while ((end = memchr(line->bytes, '\n', line->len)) ||
	       line->len == sizeof(line->bytes) - 1) {
		size_t used = line->len;

		if (end) {
			used = (size_t)(end - line->bytes) + 1;
			*end = '\0';
		}
		take(keeper, line->bytes);
		line->len -= used;
		memmove(line->bytes, line->bytes + used, line->len);
	}
	return true;
}

static void on_control(struct source *source, uint32_t events)
{
	struct keeper *keeper =
		CONTAINER_OF(source, struct keeper, control.source);

	read_lines(keeper, &keeper->control, on_control_line);
}

static void on_errors(struct source *source, uint32_t events)
{
	struct keeper *keeper =
		CONTAINER_OF(source, struct keeper, errors.source);

	read_lines(keeper, &keeper->errors, on_error_line);
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

/* The new list does not work: the old one did. */
static void take_back(struct keeper *keeper)
{
	text_copy(keeper->refused, sizeof(keeper->refused), keeper->why);
	json_decref(keeper->files);
	keeper->files = keeper->files_back;
	keeper->files_back = NULL;
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
			    "bawn-files was killed by signal %d",
			    WTERMSIG(status));
	else if (!keeper->why[0])
		text_format(keeper->why, sizeof(keeper->why),
			    "bawn-files ended with code %d",
			    WEXITSTATUS(status));
	log_warn("%s", keeper->why);
	if (keeper->life == KEEPER_STARTING && keeper->files_back) {
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
	while (read_lines(keeper, &keeper->control, on_control_line))
		;
	while (read_lines(keeper, &keeper->errors, on_error_line))
		;
	loop_del(source);
	child_wait(&keeper->child, &status, NULL);
	keeper->child = (struct child){ 0, -1 };
	close_channels(keeper);
	timer_stop(&keeper->patience);
	keeper->ops->on_mark(keeper->ctx, "bawn-files has ended");
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
	json_decref(keeper->files);
	json_decref(keeper->files_back);
	close(keeper->memory);
}
