/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks_internal.h - what both kinds of lists need
 */
#pragma once

#include <stdbool.h>

#include "loop/tasks.h"

/* NULL when there are too many. */
struct task *tasks_append(struct task_list *list);
bool tasks_is_id(const char *text, size_t len);
