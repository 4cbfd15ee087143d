/* SPDX-License-Identifier: Apache-2.0 */
/*
 * removal.h - --rm: the folder goes with the machine
 */
#pragma once

/*
 * Unless the command that made it is still there, which removes it itself.
 * Failures are logged; the next command tries again.
 */
void removal_of_sandbox(int folder, const char *path, const char *name);
