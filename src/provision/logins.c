/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.c - the login for a registry, from where docker and podman keep it
 */
#include "provision/logins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/docker_config.h"
#include "provision/image_process.h"

#define ANSWER_MAX (64u * 1024)
#define NOT_FOUND "credentials not found"

static const struct {
	const char *variable; /* holds a folder, or the file itself */
	const char *rest;     /* beneath it; NULL: it is the file */
	const char *home;     /* beneath HOME when it is not set; or NULL */
} places[] = {
	{ "REGISTRY_AUTH_FILE", NULL, NULL },
	{ "DOCKER_CONFIG", "config.json", ".docker/config.json" },
	{ "XDG_RUNTIME_DIR", "containers/auth.json", NULL },
	{ "XDG_CONFIG_HOME", "containers/auth.json",
	  ".config/containers/auth.json" },
};

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* malloc'd; NULL when there is no such place here. */
static char *path_of(size_t place)
{
	const char *value = variable(places[place].variable);
	const char *home = variable("HOME");

	if (value && !places[place].rest)
		return xstrdup(value);
	if (value)
		return xasprintf("%s/%s", value, places[place].rest);
	return home && places[place].home
		       ? xasprintf("%s/%s", home, places[place].home)
		       : NULL;
}

/* ---- helpers ---- */

/*
 * Along the user's PATH, as docker does, but not in folders that others may
 * write to, nor in the one we were started in: that may be a project which
 * brings a program of this name along.
 */
static bool is_trusted(const char *folder, const char *here)
{
	struct stat st;

	return folder[0] == '/' && strcmp(folder, "/") != 0 &&
	       !text_is_within(folder, here) && stat(folder, &st) == 0 &&
	       S_ISDIR(st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

static char *find_program(const char *name, struct error *err)
{
	AUTO_FREE char *path =
		xstrdup(variable("PATH") ? variable("PATH") : "/usr/bin");
	AUTO_FREE char *here = getcwd(NULL, 0);
	char *rest = path, *folder;

	while ((folder = strsep(&rest, ":"))) {
		AUTO_FREE char *program = xasprintf("%s/%s", folder, name);

		if (is_trusted(folder, here ? here : "/nonexistent") &&
		    access(program, X_OK) == 0)
			return TAKE_PTR(program);
	}
	error_set(err, ENOENT, "%s, which keeps the login, is not in your PATH",
		  name);
	return NULL;
}

static int ask_helper(const char *helper, const char *host, struct login *login,
		      struct error *err)
{
	AUTO_FREE char *name = xasprintf("docker-credential-%s", helper);
	AUTO_FREE char *program = find_program(name, err);
	AUTO_CLOSE int input =
		image_process_text(docker_config_server(host), err);
	AUTO_BUFFER struct buffer answer = BUFFER_INIT(ANSWER_MAX);
	const char *argv[] = { name, "get", NULL };
	struct child_fd fds[] = { { input, 0 } };
	struct child_spec spec = { .path = program,
				   .argv = argv,
				   .env = (const char *const *)environ,
				   .fds = fds,
				   .fd_count = 1,
				   .flags = CHILD_NULL_STDIO |
					    CHILD_DIE_WITH_US };
	struct error own = { 0 };
	int result;

	if (!program || input < 0)
		return -1;
	if (child_run(&spec, &answer, &own) < 0) {
		const char *said = buffer_str(&answer);

		if (said && strstr(said, NOT_FOUND))
			return 0;
		*err = own;
		return -1;
	}
	result =
		docker_config_parse_helper(answer.data, answer.len, login, err);
	explicit_bzero(answer.data, answer.len);
	return result < 0 ? error_prefix(err, "%s", name) : 0;
}

/* ---- files ---- */

/* A file that is not there, or damaged, knows nothing. */
static void read_file(const char *path, const char *host,
		      struct docker_config_answer *answer)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(DOCKER_CONFIG_MAX);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct error err = { 0 };

	memset(answer, 0, sizeof(*answer));
	if (fd < 0)
		return;
	if (fileio_read_fd(fd, &text, &err) < 0 ||
	    docker_config_find(text.data, text.len, host, answer, &err) < 0) {
		memset(answer, 0, sizeof(*answer));
		log_warn("%s: %s; going on without it", path, err.text);
	}
	explicit_bzero(text.data, text.len);
}

int logins_find(const char *host, struct login *login, struct error *err)
{
	struct docker_config_answer answer;

	memset(login, 0, sizeof(*login));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		AUTO_FREE char *path = path_of(i);

		if (!path)
			continue;
		read_file(path, host, &answer);
		if (answer.helper[0] &&
		    ask_helper(answer.helper, host, login, err) < 0)
			return -1;
		if (login->kind == LOGIN_NONE)
			*login = answer.login;
		explicit_bzero(&answer, sizeof(answer));
		if (login->kind != LOGIN_NONE)
			return 0;
	}
	return 0;
}
