/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_command.h - how the image of a sandbox wants to be run (image.json)
 *
 * Kept with the sandbox: its template's name may mean another image later.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "oci/image.h"

struct error;

struct image_command {
	struct image_run run;
	/* `run` without an agent starts the image's own command */
	bool is_agent;
};

void image_command_release(struct image_command *command);
#define IMAGE_COMMAND_FILE "image.json"
#define AUTO_IMAGE_COMMAND __attribute__((cleanup(image_command_release)))

int image_command_save(int folder, const struct image_command *command,
		       struct error *err);
/* Empty where there is no file: the template is no image. */
int image_command_load(int folder, struct image_command *command,
		       struct error *err);
/* The image's variables, into an object; those without a name are left out. */
void image_command_variables(const struct image_command *command,
			     json_t *variables);
/*
 * Its ENTRYPOINT with args, or with its own CMD. Without an ENTRYPOINT, args
 * that begin with "-" follow the CMD and others replace it. NULL-terminated;
 * the list is malloc'd, the texts are borrowed. NULL: nothing to run.
 */
const char **image_command_argv(const struct image_command *command,
				const char *const *args);
