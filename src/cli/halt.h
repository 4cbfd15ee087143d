/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halt.h - end a sandbox's machine
 */
#pragma once

struct error;

/*
 * folder is the sandbox's. 0 when nothing runs any more. grace_ms 0: at once,
 * without a farewell.
 */
/* Ends the machine and keeps its memory; what cannot is said by err. */
int halt_suspend(int folder, struct error *err);
int halt_folder(int folder, unsigned grace_ms, struct error *err);
/* As halt_folder() at once, but -1 with code EBUSY while a session lives. */
int halt_if_idle(int folder, struct error *err);
