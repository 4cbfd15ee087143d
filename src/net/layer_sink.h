/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_sink.h - a layer on its way to bawn-layers
 *
 * Whoever writes asks for space first, and is told when there is some again.
 * The end of what was written may outlive its writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct layer_sink;
struct loop;

typedef void layer_sink_fn(void *ctx);

/* Takes fd, a pipe that does not block. NULL: no. */
struct layer_sink *layer_sink_new(struct loop *loop, int fd,
				  layer_sink_fn *on_space, void *ctx);
/* False: what was written is not yet on its way. */
bool layer_sink_takes(const struct layer_sink *sink);
/* What it cannot keep makes it useless, and nothing else. */
void layer_sink_write(struct layer_sink *sink, const void *bytes, size_t len);
/* Nothing follows; on_space is not called any more. Takes it; NULL is none. */
void layer_sink_finish(struct layer_sink *sink);
/* The same for what is not whole. */
void layer_sink_drop(struct layer_sink *sink);
