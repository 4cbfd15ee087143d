/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_modules.h - clone mode: submodules of the workspace
 *
 * The repository of a submodule that the host has checked out lies in the
 * host's git folder, which the sandbox sees; so it is cloned from there, and
 * nobody needs the network or a login for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A script for sh: $1 workspace, $2 origin. Says a line for each submodule. */
extern const char clone_modules_script[];

#define CLONE_MODULES_BYTES 8192
#define CLONE_MODULES_SHOWN 8

/* What the script said: the guest's word. */
struct clone_modules {
	char said[CLONE_MODULES_BYTES];
	size_t len;
};

enum clone_module_state {
	CLONE_MODULE_CLONED,
	CLONE_MODULE_ABSENT, /* the host has no repository of it */
	CLONE_MODULE_FAILED,

	CLONE_MODULE_STATES,
};

struct clone_module {
	enum clone_module_state state;
	const char *path; /* not terminated, not printable */
	size_t len;
};

/* The next one from *at on; false: no more. Other lines are passed over. */
bool clone_modules_next(const struct clone_modules *modules, size_t *at,
			struct clone_module *one);
void clone_modules_hear(struct clone_modules *modules, const uint8_t *bytes,
			size_t len);
/* Tells the user on stderr; quiet where there are none. */
void clone_modules_tell(const struct clone_modules *modules, const char *name);
