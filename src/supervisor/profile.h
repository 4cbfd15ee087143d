/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what the supervisor itself may do once QEMU runs
 */
#pragma once

#include "isolate/isolate.h"

/* Allow-list, NULL-terminated; a reason stands beside each in profile.c. */
extern const char *const profile_syscalls[];
/* Answered ENOSYS. */
extern const char *const profile_syscalls_enosys[];
/* More rules, by one argument each; a NULL system call ends the list. */
extern const struct isolate_argument profile_arguments[];
/* Answered with an error; ends in one without a system call. */
extern const struct isolate_refusal profile_refusals[];
