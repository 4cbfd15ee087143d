/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - --rm: the sandbox goes, also when a signal ends the command
 */
#pragma once

/*
 * From now on SIGINT, SIGTERM and SIGHUP remove this sandbox before the
 * process ends with 128 + signal.
 */
void guard_remove(const char *name);
