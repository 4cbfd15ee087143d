/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - programs start when the shared folders are there
 *
 * In memory that PID 1, the relay and the children of sessions share: the
 * relay opens it, a child that is about to run a program waits for that, and
 * PID 1 takes no part, unless nobody opens it in time.
 */
#pragma once

#include <stdbool.h>

/* Before the first fork. Open until gate_require(). */
int gate_init(void);
/* Folders were announced: wait for them. */
void gate_require(void);
void gate_open(void);
/* What was opened belongs to the past: the machine is about to be saved. */
void gate_reset(void);
bool gate_is_open(void);
/* Until it is open or need not be, at most so long. */
void gate_wait(unsigned timeout_ms);
