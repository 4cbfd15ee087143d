/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_root.h - what the guard (guard.h) has to know of a shared folder
 */
#pragma once

#include <stdbool.h>

struct guard_list;
struct guard_state;

/* False where letters are told apart for sure. */
bool guard_root_folds_case(int root);
/* As guard_enter_share(); a bare repository is one by any name. */
void guard_root_enter(const struct guard_list *list, int root,
		      const char *host_path, struct guard_state *state);
