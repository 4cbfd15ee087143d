/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_place.h - which loop a folder has, and where its state lies
 */
#pragma once

#include <stdbool.h>

struct error;
struct run_state;

/* "ralph-<agent>-<folder>-<8 hex of sha256(path)>"; malloc'd. */
char *loop_place_name(const char *agent, const char *path);
/* The folder of its state, made if missing. */
int loop_place_open(const char *name, struct error *err);
/* Somebody runs it. */
bool loop_place_is_alive(int folder);
/*
 * The state of the folder's loop; agent NULL: of the one that was begun last.
 * 1 and its folder, 0 when there is none.
 */
int loop_place_find(const char *agent, const char *path, int *folder,
		    struct run_state *state, struct error *err);
