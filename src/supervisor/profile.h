/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what the supervisor itself may do once QEMU runs
 */
#pragma once

/* Allow-list, NULL-terminated; a reason stands beside each in profile.c. */
extern const char *const profile_syscalls[];
/* Answered ENOSYS. */
extern const char *const profile_syscalls_enosys[];
