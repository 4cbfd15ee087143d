/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.c - variables of a sandbox (env.json) and of one session
 */
#include "cli/variables.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/image_command.h"
#include "cli/keys.h"
#include "cli/options.h"
#include "cli/store.h"
#include "state/agents.h"
#include "state/services.h"

#define FILE_MAX (256u * 1024)
#define VARIABLES_MAX 2048

AUTO_DEFINE(json, json_t *, json_decref)

/* The folder may be a confined supervisor's; it cannot make a file of ours. */
static int read_own(int folder, struct buffer *text, struct error *err)
{
	AUTO_CLOSE int fd = openat(folder, STORE_ENV_FILE,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, STORE_ENV_FILE);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return error_set(err, 0, STORE_ENV_FILE ": not a file of ours");
	return fileio_read_fd(fd, text, err);
}

json_t *variables_load(int folder, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	struct error own = { 0 };
	json_t *object;

	if (read_own(folder, &text, &own) < 0) {
		if (own.code == ENOENT)
			return json_object();
		error_set(err, 0, "%s", own.text);
		return NULL;
	}
	object = json_loadb((const char *)text.data, text.len,
			    JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(object))
		return object;
	json_decref(object);
	error_set(err, 0, STORE_ENV_FILE ": damaged");
	return NULL;
}

int variables_lock(int folder, struct error *err)
{
	return fileio_lock(folder, "env.lock", FILEIO_LOCK_WAIT, err);
}

int variables_save(int folder, const json_t *variables, struct error *err)
{
	AUTO_FREE char *text = json_dumps(variables, JSON_INDENT(2));

	if (strlen(text) > FILE_MAX)
		return error_set(err, E2BIG, "variables");
	return fileio_replace(folder, STORE_ENV_FILE, text, strlen(text), 0600,
			      0, err);
}

static int check_key(const char *text, size_t len, struct error *err)
{
	char shown[64];

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!isalnum(c) && c != '_' && c != '.' && c != '-')
			len = 0;
	}
	if (len && !isdigit((unsigned char)text[0]))
		return 0;
	text_printable(text, strcspn(text, "="), shown, sizeof(shown));
	return options_usage(err, "\"%s\" is no name of a variable", shown);
}

static bool is_bound(const char *key)
{
	AUTO(json) json_t *services = services_load(NULL);

	return services && services_of_variable(services, key);
}

int variables_add(json_t *variables, const char *text, struct error *err)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	AUTO_FREE char *key = NULL;
	const char *value;

	if (check_key(text, len, err) < 0)
		return -1;
	if (json_object_size(variables) >= VARIABLES_MAX)
		return error_set(err, E2BIG, "variables");
	key = xstrndup(text, len);
	value = equals ? equals + 1 : getenv(key);
	if (!value || (!equals && is_bound(key)))
		return 0;
	if (json_object_set_new(variables, key, json_string(value)) < 0)
		return error_set(err, 0, "variable %s: its value is not UTF-8",
				 key);
	return 0;
}

static int add_file(json_t *variables, const char *path, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *line, *rest;

	if (fd < 0)
		return error_set(err, errno, "%s", path);
	if (fileio_read_fd(fd, &text, err) < 0 || !buffer_str(&text))
		return error_prefix(err, "%s", path);
	rest = (char *)text.data;
	while ((line = strsep(&rest, "\n"))) {
		size_t len = strlen(line);

		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		line += strspn(line, " \t");
		if (*line && *line != '#' &&
		    variables_add(variables, line, err) < 0)
			return error_prefix(err, "%s", path);
	}
	return 0;
}

int variables_from_options(json_t *variables, const struct options *options,
			   struct error *err)
{
	const char *value;
	size_t at = 0;

	while ((value = options_next(options, "env-file", &at)))
		if (add_file(variables, value, err) < 0)
			return -1;
	at = 0;
	while ((value = options_next(options, "env", &at)))
		if (variables_add(variables, value, err) < 0)
			return -1;
	return 0;
}

static void add_agent_variables(const char *name, json_t *all)
{
	AUTO(json) json_t *agents = agents_load(NULL);
	const json_t *agent = name ? agents_find(agents, name) : NULL;

	json_object_update(all, json_object_get(agent, "environment"));
}

char **variables_of_session(const struct sandbox *sandbox, bool tty,
			    const json_t *session, const json_t *extra,
			    struct error *err)
{
	AUTO(json) json_t *all = json_object();
	AUTO(json) json_t *bindings = keys_bindings(sandbox, session, err);
	AUTO(json) json_t *own = variables_load(sandbox->folder, err);
	AUTO_IMAGE_COMMAND struct image_command image = { .is_agent = false };
	const char *term = getenv("TERM"), *key;
	json_t *value;
	char **list;
	size_t n = 0;

	if (!own || !bindings ||
	    image_command_load(sandbox->folder, &image, err) < 0)
		return NULL;
	image_command_variables(&image, all);
	add_agent_variables(sandbox->record.agent, all);
	json_object_set_new(all, "SANDBOX_NAME",
			    json_string(sandbox->record.name));
	json_object_set_new(all, "SANDBOX_ID", json_string(sandbox->record.id));
	json_object_set_new(all, "IS_SANDBOX", json_string("1"));
	if (sandbox->record.shares.count)
		json_object_set_new(
			all, "WORKSPACE_DIR",
			json_string(sandbox->record.shares.items[0].guest));
	if (sandbox->record.ssh_keys)
		json_object_set_new(all, "SSH_AUTH_SOCK",
				    json_string(SOCKET_SSH_AGENT));
	if (tty && term && *term)
		json_object_set_new(all, "TERM", json_string(term));
	keys_add_variables(bindings, all);
	json_object_update(all, own);
	if (extra)
		json_object_update(all, (json_t *)extra);
	list = xcalloc(json_object_size(all) + 1, sizeof(char *));
	json_object_foreach(all, key, value) if (json_is_string(value))
		list[n++] = xasprintf("%s=%s", key, json_string_value(value));
	return list;
}

void variables_free(char **list)
{
	for (char **at = list; at && *at; at++)
		free(*at);
	free(list);
}
