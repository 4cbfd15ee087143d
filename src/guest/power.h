/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power.h - the end of the machine
 */
#pragma once

/* Asks every process to end. */
void power_ask_all(void);
/* Kills what is left, makes the disk clean, switches the machine off. */
/* Writes out the disk, and nothing that a relay serves. */
void power_sync(void);
_Noreturn void power_off(void);
