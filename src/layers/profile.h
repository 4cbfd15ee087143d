/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-layers gives up
 */
#pragma once

struct error;

/* Once it has its descriptors; folder is all that it may reach. */
int profile_enter(int folder, struct error *err);
