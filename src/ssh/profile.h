/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-ssh gives up
 */
#pragma once

#include <sys/types.h>

struct error;

/* uid: which one root takes; 0: none. */
int profile_enter(uid_t uid, struct error *err);
