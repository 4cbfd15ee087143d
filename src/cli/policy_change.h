/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_change.h - change the rules of a sandbox, or of all
 *
 * The file is replaced as a whole, after the new one was found to make sense;
 * then every running sandbox that it concerns is told, and answers when it has
 * closed what is no longer allowed.
 */
#pragma once

struct buffer;
struct error;
struct policy_place;
struct sandbox;

/* Edits the file's text: 1, or 0 when there is nothing to change, or -1. */
typedef int policy_edit_fn(void *ctx, struct buffer *text, struct error *err);

/* What edit returned; -1 also when a running sandbox did not take it. */
int policy_change(const struct policy_place *place, policy_edit_fn *edit,
		  void *ctx, struct error *err);
