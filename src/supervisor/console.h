/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.h - the guest's serial console goes to console.log
 *
 * The guest can write without end. The log is at most CONSOLE_LOG_MAX with one
 * predecessor, console.log.old; and bytes are taken at a limited rate, so that
 * a flood waits in the guest and costs the host little.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct error;

#define CONSOLE_LOG "console.log"
#define CONSOLE_LOG_OLD "console.log.old"
#define CONSOLE_LOG_MAX (1024u * 1024)

struct console {
	/* private */
	struct source source;
	struct timer refill;
	struct loop *loop;
	int folder_fd; /* borrowed */
	int log_fd;    /* owned */
	uint64_t log_bytes;
	uint64_t tokens; /* bytes that may be read now */
	uint64_t refilled_ms;
	char line[160]; /* the line that is being written */
	size_t line_len;
	char last_line[160]; /* the last one with text in it */
	char panic[160];     /* the last one in which a kernel gave up */
};

/* Opens a fresh log in the folder; the old one is kept as .old. */
int console_open_log(int folder_fd, struct error *err);
/* Takes both descriptors. */
int console_open(struct console *console, struct loop *loop, int fd, int log_fd,
		 int folder_fd, struct error *err);
/* QEMU has ended: takes what the guest had written before. */
void console_drain(struct console *console);
void console_close(struct console *console);
/* Printable, "" when nothing was written; for error messages. */
void console_last_line(const struct console *console, char *text, size_t size);
/* The same of what a kernel says when it gives up; the guest may invent it. */
void console_panic(const struct console *console, char *text, size_t size);
