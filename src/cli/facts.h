/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - what `ls` and `inspect` tell about a sandbox
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct sandbox;
struct sandbox_record;
struct sandbox_state;

/* "microvm/tcg"; without the second part before the first start. */
void facts_isolation(const struct sandbox *sandbox,
		     const struct sandbox_state *state, char *dst, size_t size);
/* "running", "paused (disk full)". */
void facts_status(const struct sandbox_state *state, char *dst, size_t size);
/* "/p", "/p:ro", "/p (overlay)". */
void facts_workspace(const struct sandbox_record *record, char *dst,
		     size_t size);
/* A row of `ls --json`. */
/* What it takes of the host's disk: own_bytes, shared_bytes, ... */
json_t *facts_disk(const struct sandbox *sandbox);
json_t *facts_row(const struct sandbox *sandbox,
		  const struct sandbox_state *state);
/* `inspect`; asks the supervisor, if there is one, for its sessions. */
json_t *facts_all(const struct sandbox *sandbox,
		  const struct sandbox_state *state);
