/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-launch gives up, and with it all that it starts
 */
#pragma once

struct error;

int profile_enter(struct error *err);
/*
 * child_spec.prepare of a program that must have no network: our own is the
 * host's. ctx is not used.
 */
int profile_leave_network(void *ctx, struct error *err);
