/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - containers of the sandbox's engine trust the gate, too
 *
 * The engine looks for runc along its PATH, and first finds bawn-init by that
 * name. It adds to the settings of what is about to run: a list of authorities
 * and the variables that name it, unless the container sets them itself. Then
 * it becomes the true runc. Whatever cannot be read stays as it was.
 *
 * The files lie in the container's /dev, which is memory and never part of an
 * image. The image's own list is not covered by a mount: packages in it that
 * replace the file would fail.
 */
#pragma once

#include <stdbool.h>

/* For the front of the engine's PATH. */
#define RUNTIME_FOLDER "/run/bawn/engine"

/* Makes the folder. */
void runtime_provide(void);
/* This process was started under that name. */
bool runtime_is_called(const char *argv0);
_Noreturn void runtime_run(char **argv);
