/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_say.h - one line on which policy a new sandbox has
 */
#pragma once

struct error;
struct sandbox;

/* On stderr; also what its agent will miss where nothing is implicit. */
int policy_say(const struct sandbox *sandbox, struct error *err);
