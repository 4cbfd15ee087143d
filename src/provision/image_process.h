/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_process.h - bawn-registry or bawn-image at work, and what it asks for
 *
 * The other end of src/image/talk.h, where the packets are described. The
 * process reads what strangers wrote: what it says is checked like theirs.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/child.h"

struct error;
struct image;
struct image_descriptor;

#define IMAGE_PROCESS_VERDICT 16

/* Each returns -1 with err set to end it all. */
struct image_handlers {
	/* facts is the whole description. 1: it is to go on, 0: enough. */
	int (*image)(void *ctx, const struct image *image, const json_t *facts,
		     struct error *err);
	/* A descriptor for the process (borrowed), or -2: it is there. */
	int (*blob)(void *ctx, const struct image_descriptor *blob,
		    struct error *err);
	int (*done)(void *ctx, const char *digest, struct error *err);
	void (*progress)(void *ctx, size_t part, uint64_t bytes);
	/* A file of a folder that was given (owned by the caller); ENOENT.
	 * NULL: there is no folder. */
	int (*open)(void *open_ctx, const char *name, struct error *err);
	void *ctx, *open_ctx;
};

#define IMAGE_BLOB_HAVE (-2)

struct image_process {
	struct child child;
	int talk_fd, log_fd, memory_fd; /* owned */
	const char *program;
	char verdict[IMAGE_PROCESS_VERDICT]; /* of a failure; or "" */
	bool ended;                          /* it has closed its end */
};

/* input is borrowed: its descriptor 0. argv[0] is the program. */
int image_process_start(struct image_process *process, const char *const *argv,
			int input, struct error *err);
/* The same for one that writes to output (borrowed; -1: to nothing). */
int image_process_start_to(struct image_process *process,
			   const char *const *argv, int input, int output,
			   struct error *err);
/* Waits for one packet at most wait_ms (-1: for ever) and handles it. */
int image_process_step(struct image_process *process,
		       const struct image_handlers *handlers, int wait_ms,
		       struct error *err);
/* Until it has ended; then as image_process_finish(). */
int image_process_run(struct image_process *process,
		      const struct image_handlers *handlers, struct error *err);
/* Waits for its end; what it last said is the error. */
int image_process_finish(struct image_process *process, struct error *err);
void image_process_kill(struct image_process *process);
/* A file in memory with this text, for an order; -1. */
int image_process_text(const char *text, struct error *err);
