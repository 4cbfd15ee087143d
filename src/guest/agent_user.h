/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_user.h - the user that every template has
 */
#pragma once

/*
 * Adds `agent` (uid and gid 1000) to a template that lacks it: lines in
 * passwd, group and shadow, a home folder, sudo without a password where sudo
 * exists. Best effort; failures are logged.
 */
void agent_user_ensure(void);
