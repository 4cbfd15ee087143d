/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builder.h - the sandbox in which templates are built
 *
 * An ordinary sandbox on the base template, without a shared folder; its Docker
 * builds, and its disk keeps what was built for the next time. One build at a
 * time. What it says is the guest's word.
 */
#pragma once

#include <stddef.h>

#include "cli/store.h"

struct buffer;
struct error;

#define BUILDER_NAME "template-builder"

struct builder {
	struct store store;
	struct sandbox sandbox;
	int lock;            /* owned: of the build that is under way */
	const char *passing; /* it is removed at the end; NULL: the builder */
};

#define BUILDER_INIT       \
	((struct builder){ \
		.store = STORE_INIT, .sandbox = SANDBOX_INIT, .lock = -1 })

/* Finds it or makes it; waits for another build. */
int builder_open(struct builder *builder, struct error *err);
/*
 * A new sandbox on this template, of which somebody wants the files; called
 * while the builder is open.
 */
int builder_open_copy(struct builder *builder, const char *template_name,
		      struct error *err);
/*
 * A new sandbox on this template, in which foreign programs run that may reach
 * what rules (NULL-terminated, as in bawn-policy(5)) allow and nothing else.
 */
int builder_open_alone(struct builder *builder, const char *template_name,
		       char *const *rules, struct error *err);
/* Powers it off: its memory is worth more to others. A copy is removed. */
void builder_close(struct builder *builder);
#define AUTO_BUILDER __attribute__((cleanup(builder_close)))

/* A file or folder of the host; nothing that is reached through a link. */
int builder_send(struct builder *builder, const char *host_path,
		 const char *guest_path, struct error *err);

/* What becomes of a program's stdin and stdout; stderr is the user's. */
struct builder_io {
	int in;              /* read to its end; -1: nothing */
	int out;             /* -1: where ours goes */
	struct buffer *text; /* instead of out, when not NULL */
	bool quiet;          /* its words are dropped */
	bool terminal;       /* it may have ours */
};

#define BUILDER_IO_INIT ((struct builder_io){ .in = -1, .out = -1 })

/* A file without a name in the cache; gone when it is closed. */
int builder_spool(struct error *err);

/* As root; its exit code, or -1. */
int builder_run(struct builder *builder, const char *const *argv,
		const struct builder_io *io, struct error *err);
