/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - lines between bawn-files and the launcher that started it
 */
#include "files/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

static void on_event(struct source *source, uint32_t events);

void control_init(struct control *control, int fd)
{
	*control = (struct control){ .source = { .name = "launcher",
						 .fd = fd,
						 .events = EPOLLIN,
						 .on_event = on_event } };
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int control_start(struct control *control, struct loop *loop, struct error *err)
{
	if (control->source.fd < 0)
		return 0;
	if (loop_add(loop, &control->source, err) < 0)
		return error_prefix(err, "launcher");
	return 0;
}

void control_release(struct control *control)
{
	loop_del(&control->source);
}

void control_say(struct control *control, const char *fmt, ...)
{
	char line[CONTROL_LINE_MAX];
	va_list args;
	int len;

	if (control->source.fd < 0)
		return;
	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line) - 1, fmt, args);
	va_end(args);
	if (len < 0)
		return;
	if ((size_t)len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	/* A guest can cause lines; it must not make us wait or grow. */
	if (write(control->source.fd, line, (size_t)len) != len)
		log_limited(LOG_LEVEL_WARN, "the launcher does not read");
}

static void mark(struct control *control, const char *label)
{
	struct error err = { 0 };

	if (strlen(label) > CONTROL_LABEL_MAX)
		error_set(&err, 0, "a label has at most %d bytes",
			  CONTROL_LABEL_MAX);
	else if (!control->on_mark)
		error_set(&err, 0, "nothing is kept for undo here");
	else if (control->on_mark(control->ctx, label, &err) == 0) {
		control_say(control, "marked %s", label);
		return;
	}
	control_say(control, "failed %s", err.text);
}

static void on_line(struct control *control, const char *line)
{
	if (text_starts(line, "mark "))
		mark(control, line + strlen("mark "));
	else if (strcmp(line, "forget") == 0 && control->on_forget)
		control->on_forget(control->ctx);
	else
		log_warn("unknown line of the launcher");
}

static void on_event(struct source *source, uint32_t events)
{
	struct control *control = CONTAINER_OF(source, struct control, source);
	ssize_t n = read(source->fd, control->line + control->len,
			 sizeof(control->line) - control->len);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		control->len += (size_t)n;
	while ((end = memchr(control->line, '\n', control->len))) {
		size_t used = (size_t)(end - control->line) + 1;

		*end = '\0';
		on_line(control, control->line);
		control->len -= used;
		memmove(control->line, control->line + used, control->len);
	}
	if (n <= 0 || control->len == sizeof(control->line))
		loop_stop(source->loop);
}
