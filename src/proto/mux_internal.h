/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux_internal.h - what the parts of the mux share
 *
 * mux.c         streams: found, opened, ended; epochs
 * mux_output.c  what is sent
 * mux_input.c   what is received
 */
#pragma once

#include "proto/mux.h"

/*
 * Room for small frames, over what messages may take: an EOF and a CLOSE for
 * each of 16,384 streams.
 */
#define MUX_SMALL_FRAMES_MAX (512u * 1024)

/* mux.c */
/* The user hears of the stream at the next mux_tell_users(). */
void mux_mark(struct mux_stream *stream);
/* Calls on_stream for every marked stream; it may close any of them. */
void mux_tell_users(struct mux *mux);
/* len bytes of the stream were used. */
void mux_note_taken(struct mux_stream *stream, size_t len);
/* After every change of a ring's memory. */
void mux_count_memory(struct mux_stream *stream);
void mux_free_stream(struct mux_stream *stream);

/* mux_output.c */
/* After every change of `out`, may_send or closed. */
void mux_update_ready(struct mux_stream *stream);
/* Forgets the frame under way, whether or not it was begun. */
void mux_drop_frame(struct mux *mux);
void mux_queue_eof(struct mux_stream *stream);
void mux_queue_close(struct mux_stream *stream, uint32_t code);
