/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-launch gives up, and with it all that it starts
 */
#pragma once

struct error;

int profile_enter(struct error *err);
