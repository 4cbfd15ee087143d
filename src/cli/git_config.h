/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_config.h - what a git config says, line by line; pure
 *
 * Only as much of the format as is needed to find the files that it names:
 * a value that goes on in the next line is taken to its first end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GIT_CONFIG_VALUE_MAX 1024

struct git_setting {
	char section[64]; /* small letters, without a subsection */
	char key[64];     /* small letters */
	char value[GIT_CONFIG_VALUE_MAX];
};

/* The next setting from *at on; false at the end. Begin with zeroes. */
bool git_config_next(const char **at, const char *end,
		     struct git_setting *setting);
/* Is its value a path? */
bool git_config_is_path(const struct git_setting *setting);
/* Is it a command, which a shell splits into words? */
bool git_config_is_command(const struct git_setting *setting);
