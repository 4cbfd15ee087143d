/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux_internal.h - what mux.c and mux_input.c share
 */
#pragma once

#include "proto/mux.h"

/* Grant again when so much was taken: few WINDOW frames, no pause. */
#define GRANT_BYTES (MUX_WINDOW / 4)

/* The user hears of the stream at the next mux_tell_users(). */
void mux_mark(struct mux_stream *stream);
/* Calls on_stream for every marked stream; it may close any of them. */
void mux_tell_users(struct mux *mux);
