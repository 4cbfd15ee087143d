/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-net may do once it reads a guest's bytes
 */
#pragma once

#include <sys/types.h>

struct error;

/* uid: whom to become when root started us; 0 is an error then. */
int profile_enter(uid_t uid, struct error *err);
