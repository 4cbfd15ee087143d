/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_command.c - how the image of a sandbox wants to be run (image.json)
 */
#include "cli/image_command.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"

#define FILE_NAME IMAGE_COMMAND_FILE

AUTO_DEFINE(json, json_t *, json_decref)

void image_command_release(struct image_command *command)
{
	image_run_release(&command->run);
}

int image_command_save(int folder, const struct image_command *command,
		       struct error *err)
{
	AUTO(json)
	json_t *json = json_pack("{s:b, s:o}", "is_agent", command->is_agent,
				 "run", image_run_to_json(&command->run));
	AUTO_FREE char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;

	if (!text)
		return error_set(err, 0, FILE_NAME " cannot be written");
	return fileio_replace(folder, FILE_NAME, text, strlen(text), 0600, 0,
			      err);
}

int image_command_load(int folder, struct image_command *command,
		       struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(IMAGE_JSON_MAX);
	AUTO(json) json_t *json = NULL;
	struct error own = { 0 };

	command->is_agent = false;
	image_run_init(&command->run);
	if (fileio_read(folder, FILE_NAME, &text, &own) < 0) {
		if (own.code == ENOENT)
			return 0;
		*err = own;
		return -1;
	}
	json = text.len ? json_loadb((const char *)text.data, text.len, 0, NULL)
			: NULL;
	if (!json_is_object(json) ||
	    image_run_from_json(json_object_get(json, "run"), &command->run,
				err) < 0)
		return error_set(err, 0, FILE_NAME " is damaged");
	command->is_agent = json_is_true(json_object_get(json, "is_agent"));
	return 0;
}

void image_command_variables(const struct image_command *command,
			     json_t *variables)
{
	for (char **at = command->run.env; *at; at++) {
		const char *equals = strchr(*at, '=');
		AUTO_FREE char *key = NULL;

		if (!equals || equals == *at)
			continue;
		key = xstrndup(*at, (size_t)(equals - *at));
		json_object_set_new(variables, key, json_string(equals + 1));
	}
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

const char **image_command_argv(const struct image_command *command,
				const char *const *args)
{
	const char *const *entry = (const char *const *)command->run.entrypoint;
	const char *const *own = (const char *const *)command->run.command;
	bool replaced = count(args) && (entry[0] || args[0][0] != '-');
	const char **argv = xcalloc(count(entry) + count(own) + count(args) + 1,
				    sizeof(char *));
	size_t n = 0;

	for (; *entry; entry++)
		argv[n++] = *entry;
	for (; !replaced && *own; own++)
		argv[n++] = *own;
	for (; args && *args; args++)
		argv[n++] = *args;
	if (n)
		return argv;
	free(argv);
	return NULL;
}
