/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_input.h - where the value of a secret comes from
 *
 * Never from an argument: those are seen by everybody on the machine.
 */
#pragma once

struct error;
struct options;
struct secret;

/*
 * --env VAR, `-` (stdin), or a question on the terminal that shows nothing. The
 * caller's; NULL and err otherwise.
 */
struct secret *secret_input(const struct options *options, const char *name,
			    struct error *err);
