/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a tool of ours in the guest, with bytes in and out
 *
 * The tool is bawn-init's own binary, run as root (src/guest/tool.c). What it
 * writes is the guest's word: the caller parses it as hostile bytes.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/relay_frames.h"
#include "cli/start.h"

struct error;
struct sandbox;

struct stream {
	struct start start;
	struct relay_frames frames;
	struct buffer errors; /* what the tool says */
	bool open, exited, ended_input;
	int exit_code;
	sigset_t old_mask;
	struct sigaction old_actions[3];
};

/*
 * Starts the sandbox if need be. args begins with the tool's name. SIGINT,
 * SIGTERM and SIGHUP are held back from here to stream_close(): whatever waits
 * fails then, so that the caller cleans up; see stream_signal().
 */
int stream_open(struct stream *stream, struct sandbox *sandbox,
		const char *const *args, struct error *err);
void stream_close(struct stream *stream);
#define AUTO_STREAM __attribute__((cleanup(stream_close)))
#define STREAM_INIT ((struct stream){ .start = START_INIT })

/* To the tool's stdin. Fails when the tool has ended. */
int stream_write(struct stream *stream, const void *bytes, size_t len,
		 struct error *err);
void stream_end_input(struct stream *stream);
/* 1 and bytes of the tool's stdout, valid until the next call; 0 at the end. */
int stream_read(struct stream *stream, const uint8_t **bytes, size_t *len,
		struct error *err);
/* Waits for descriptor fd of ours to have bytes. */
int stream_wait_for(struct stream *stream, int fd, struct error *err);
/* Writes to a descriptor of ours that may not take it for long. */
int stream_pass_on(struct stream *stream, int fd, const uint8_t *bytes,
		   size_t len, struct error *err);
/*
 * Waits for the end. What the tool said is printed, each line; a failure of
 * the tool is an error with its last line.
 */
int stream_finish(struct stream *stream, struct error *err);
/* The signal that made a call fail, or 0. */
int stream_signal(void);
