/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - a session in a sandbox, as `run` and `exec` open one
 */
#include "cli/session.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/image_command.h"
#include "cli/mark.h"
#include "cli/command.h"
#include "cli/relay.h"
#include "cli/start.h"
#include "cli/store.h"
#include "cli/variables.h"
#include "state/agents.h"
#include "undo/segment.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(variables, char **, variables_free)

/* Says what could not be had, and chooses the exit code. */
static int refused(const char *program, const struct session_wish *wish,
		   const struct client_refusal *refusal, struct error *err)
{
	int code = err->code;
	char shown[128];

	if (!strcmp(refusal->stage, "exec")) {
		text_printable(program, strlen(program), shown, sizeof(shown));
		error_set(err, code, "%s", shown);
		if (code == ENOENT || code == ENOTDIR)
			return COMMAND_NOT_FOUND;
		return COMMAND_NOT_EXECUTABLE;
	}
	if (!strcmp(refusal->stage, "user"))
		return error_set(err, 0, "the sandbox has no user %s",
				 wish->user ? wish->user : "agent");
	if (!strcmp(refusal->stage, "folder") && !wish->folder)
		return error_set(err, code,
				 "the workspace in the sandbox (-w starts "
				 "elsewhere)");
	if (!strcmp(refusal->stage, "folder"))
		return error_set(err, code, "folder %s of the sandbox",
				 wish->folder);
	return -1;
}

/* Where a session starts: the workspace, or the folder of a single file. */
static char *workspace_folder(const struct sandbox *sandbox)
{
	const struct share_list *shares = &sandbox->record.shares;
	char *path = xstrdup(shares->count ? shares->items[0].guest : "");
	struct stat st;
	char *slash;

	if (!shares->count || stat(shares->items[0].host, &st) < 0 ||
	    S_ISDIR(st.st_mode))
		return path;
	slash = strrchr(path, '/');
	slash[slash == path] = '\0';
	return path;
}

/* result NULL: opens it, and leaves its frames to the caller. */
static int run(const struct sandbox *sandbox, struct start *start,
	       struct client_request *request, const struct session_wish *wish,
	       struct client_result *result, struct client_refusal *refusal,
	       struct error *err)
{
	AUTO(variables)
	char **env = variables_of_session(sandbox, wish->tty, wish->keys,
					  wish->variables, err);

	AUTO_FREE char *workspace = workspace_folder(sandbox);

	*refusal = (struct client_refusal){ "" };
	if (!env)
		return -1;
	request->env = env;
	request->folder = wish->folder ? wish->folder : workspace;
	request->user = wish->user ? wish->user : "";
	request->tty = wish->tty;
	request->forward_stdin = wish->forward_stdin;
	request->detach = wish->detach;
	request->filter = wish->filter;
	/* afterwards the main session is joined anew: no other one can be */
	request->ask = request->main ? wish->ask : NULL;
	request->lock = &start->lock;
	request->turn = &start->turn;
	if (!result)
		return client_open(&start->control, request, refusal, err);
	return client_exec(&start->control, request, result, refusal, err);
}

int session_open(const struct sandbox *sandbox, struct start *start,
		 const char *const *argv, const struct session_wish *wish,
		 struct error *err)
{
	struct client_request request = { .argv = argv };
	struct client_refusal refusal;

	if (run(sandbox, start, &request, wish, NULL, &refusal, err) < 0)
		return refused(argv[0], wish, &refusal, err);
	return 0;
}

int session_exec(const struct sandbox *sandbox, struct start *start,
		 const char *const *argv, const struct session_wish *wish,
		 struct error *err)
{
	struct client_request request = { .argv = argv };
	struct client_refusal refusal;
	struct client_result result;

	if (run(sandbox, start, &request, wish, &result, &refusal, err) < 0)
		return refused(argv[0], wish, &refusal, err);
	return result.exit_code;
}

/* The image's own command, in its folder and as its user. */
static int start_image(const struct sandbox *sandbox, struct start *start,
		       const struct image_command *image,
		       const char *const *args, bool main,
		       const struct session_wish *wish,
		       struct client_result *result, struct error *err)
{
	AUTO_FREE const char **argv = image_command_argv(image, args);
	struct client_request request = { .main = main };
	struct client_refusal refusal = { "" };
	struct session_wish own = *wish;

	if (!argv)
		return error_set(err, 0,
				 "the image has no command of its own (`bawn "
				 "exec %s PROGRAM` runs one in it)",
				 sandbox->record.name);
	if (!own.folder && image->run.folder[0]) {
		own.folder = image->run.folder;
		request.make_folder = true;
	}
	if (!own.user && image->run.user[0])
		own.user = image->run.user;
	request.argv = argv;
	if (run(sandbox, start, &request, &own, result, &refusal, err) == 0)
		return 0;
	return refused(argv[0], &own, &refusal, err);
}

/* Tries the agent's command lines in turn. */
static int start_shell(const struct sandbox *sandbox, struct start *start,
		       const char *const *args, bool main,
		       const struct session_wish *wish,
		       struct client_result *result, struct error *err)
{
	static const enum agent_form forms[] = { AGENT_INTERACTIVE,
						 AGENT_FALLBACK };
	AUTO(json) json_t *agents = agents_load(err);
	const json_t *agent = agents_find(agents, sandbox->record.agent);
	struct client_refusal refusal = { "" };
	int failed = -1;

	if (!agents)
		return -1;
	if (!agent)
		return error_set(err, 0, "agent %s is not known",
				 sandbox->record.agent);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		AUTO_FREE const char **argv = agent_argv(agent, forms[i], args);
		struct client_request request = { .main = main, .argv = argv };

		if (!argv)
			break;
		failed = run(sandbox, start, &request, wish, result, &refusal,
			     err);
		if (failed == 0)
			return 0;
		failed = refused(argv[0], wish, &refusal, err);
		if (failed != COMMAND_NOT_FOUND)
			break;
	}
	return failed;
}

static int start_agent(const struct sandbox *sandbox, struct start *start,
		       const char *const *args, bool main,
		       const struct session_wish *wish,
		       struct client_result *result, struct error *err)
{
	AUTO_IMAGE_COMMAND struct image_command image = { .is_agent = false };

	if (image_command_load(sandbox->folder, &image, err) < 0)
		return -1;
	if (image.is_agent && !wish->named_agent)
		return start_image(sandbox, start, &image, args, main, wish,
				   result, err);
	return start_shell(sandbox, start, args, main, wish, result, err);
}

/* What a machine that runs already changed before is not this run's. */
static void begin_run(const struct sandbox *sandbox, const struct start *start)
{
	struct error err = { 0 };

	if (start->joined && mark_set_now(sandbox, SEGMENT_RUN, &err) < 0)
		log_debug("no mark for undo: %s", err.text);
}

/* Only somebody who sees the agent's screen can be asked there. */
static void open_questions(const struct sandbox *sandbox,
			   const struct session_wish *wish,
			   struct relay_ask *ask)
{
	struct error err = { 0 };
	bool is_new;

	if (!sandbox->record.ask || wish->detach || !isatty(0) || !isatty(1))
		return;
	ask->sandbox = sandbox;
	if (ask_mark_load(ask->mark, &is_new, &err) < 0 ||
	    ask_watch_open(&ask->watch, sandbox, &err) < 0)
		log_debug("no questions here: %s", err.text);
}

static int run_agent(const struct sandbox *sandbox, struct start *start,
		     const char *const *args, const struct session_wish *wish,
		     struct client_result *result, struct error *err)
{
	bool has_args = args && args[0];
	bool main = wish->tty;
	int failed = -1;

	if (main && !has_args && !wish->detach) {
		failed = client_attach(&start->control, wish->ask, result, err);
		if (failed < 0 && err->code != ENOENT)
			return failed;
	}
	if (failed < 0) {
		begin_run(sandbox, start);
		failed = start_agent(sandbox, start, args, main, wish, result,
				     err);
	}
	/* somebody else was faster, or one is live beside which ARGS run */
	if (failed < 0 && main && err->code == EEXIST)
		failed = has_args || wish->detach
				 ? start_agent(sandbox, start, args, false,
					       wish, result, err)
				 : client_attach(&start->control, wish->ask,
						 result, err);
	return failed;
}

int session_agent(const struct sandbox *sandbox, struct start *start,
		  const char *const *args, const struct session_wish *wish,
		  bool *let_go, struct error *err)
{
	struct client_result result = { .end = CLIENT_EXITED };
	struct relay_ask ask = RELAY_ASK_INIT;
	struct session_wish own = *wish;
	int failed;

	if (wish->tty)
		open_questions(sandbox, wish, &ask);
	own.ask = ask.watch.fd >= 0 ? &ask : NULL;
	failed = run_agent(sandbox, start, args, &own, &result, err);
	ask_watch_close(&ask.watch);
	if (failed < 0)
		return failed;
	*let_go = result.end == CLIENT_DETACHED;
	return result.exit_code;
}
