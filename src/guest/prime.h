/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prime.h - run what users run first, so that a snapshot has it in memory
 */
#pragma once

struct cgroups;

/*
 * The login shell of the default user on a terminal, then two small programs.
 * What the template lacks fails fast. Bounded to 20 s.
 */
void prime_run(struct cgroups *cgroups);
