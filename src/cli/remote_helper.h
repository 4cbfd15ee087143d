/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_helper.h - git-remote-bawn: fetch from a sandbox in clone mode
 */
#pragma once

#include <stdbool.h>

/* Whether this program was started by git under that name. */
bool remote_helper_called(const char *program);
/* argv as of main(); an exit code. */
int remote_helper_run(int argc, const char *const *argv);
