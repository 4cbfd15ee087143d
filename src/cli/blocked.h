/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked.h - which hosts a command was not let to, told when it has failed
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct sandbox;

/* Where the log ended when the command began. */
struct blocked_mark {
	dev_t device;
	ino_t inode; /* 0: there was none */
	off_t size;
};

struct blocked_mark blocked_begin(const struct sandbox *sandbox);
/*
 * One line on stderr with the hosts that were blocked since, and the command
 * that allows them; nothing when there are none.
 */
void blocked_report(const struct sandbox *sandbox,
		    const struct blocked_mark *mark);
/* Logins that are over: why an agent may have failed. */
void blocked_report_logins(const struct sandbox *sandbox);
