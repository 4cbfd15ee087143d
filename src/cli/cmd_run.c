/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_run.c - run and create
 */
#include "cli/command.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/agent_settings.h"
#include "cli/agent_setup.h"
#include "cli/blocked.h"
#include "cli/clone.h"
#include "cli/create.h"
#include "cli/guard.h"
#include "cli/keys.h"
#include "cli/mcp_host.h"
#include "cli/plan.h"
#include "cli/policy_say.h"
#include "cli/progress_view.h"
#include "cli/proxy_file.h"
#include "cli/ready.h"
#include "cli/removal.h"
#include "cli/request.h"
#include "cli/run_options.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/spelling.h"
#include "cli/start.h"
#include "cli/store.h"
#include "cli/variables.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* A sandbox that is ready to be started. */
struct ready {
	struct store store;
	struct request request;
	struct plan plan; /* filled when the sandbox is new */
	struct sandbox sandbox;
	struct created created;
	json_t *keys; /* of the caller's environment, for this session */
};

static void ready_release(struct ready *ready)
{
	json_decref(ready->keys);
	sandbox_close(&ready->sandbox);
	plan_release(&ready->plan);
	request_release(&ready->request);
	store_close(&ready->store);
	if (ready->created.owner >= 0)
		close(ready->created.owner);
}
#define AUTO_READY __attribute__((cleanup(ready_release)))
#define READY_INIT                                \
	((struct ready){ .store = STORE_INIT,     \
			 .sandbox = SANDBOX_INIT, \
			 .created = { .owner = -1 } })

/* -e of an existing sandbox holds for its later sessions too. */
static int add_variables(const struct sandbox *sandbox, json_t *given,
			 struct error *err)
{
	AUTO(json) json_t *own = NULL;
	AUTO_CLOSE int lock = -1;

	if (!json_object_size(given))
		return 0;
	/* two changes at once must both be there afterwards */
	lock = variables_lock(sandbox->folder, err);
	if (lock < 0)
		return -1;
	own = variables_load(sandbox->folder, err);
	if (!own)
		return -1;
	json_object_update(own, given);
	return variables_save(sandbox->folder, own, err);
}

static int find_or_make(const struct options *options, json_t *variables,
			struct ready *ready, struct error *err)
{
	int found;

	if (store_open(&ready->store, err) < 0 ||
	    request_parse(options, &ready->store, &ready->request, err) < 0)
		return -1;
	found = request_find(&ready->request, &ready->store, &ready->sandbox,
			     err);
	if (found < 0)
		return -1;
	if (found == 0) {
		if (clone_check(&ready->request, err) < 0 ||
		    plan_new(&ready->request, &ready->plan, err) < 0 ||
		    create_sandbox(&ready->store, &ready->request, &ready->plan,
				   variables, &ready->sandbox, &ready->created,
				   err) < 0)
			return -1;
		if (ready->created.is_new)
			return 0;
	}
	return add_variables(&ready->sandbox, variables, err);
}

static int get_ready(const struct options *options, struct ready *ready,
		     struct error *err)
{
	AUTO(json) json_t *variables = json_object();
	AUTO(json) json_t *given = NULL;

	if (variables_from_options(variables, options, err) < 0 ||
	    find_or_make(options, variables, ready, err) < 0)
		return -1;
	given = variables_load(ready->sandbox.folder, err);
	if (!given)
		return -1;
	ready->keys = keys_session(&ready->sandbox, options, given, err);
	return ready->keys ? 0 : -1;
}

/* What is shared although the user did not name it. */
static void say_what_is_added(const struct ready *ready)
{
	const struct share_list *shares = &ready->sandbox.record.shares;
	char shown[256];

	if (!ready->created.is_new)
		return;
	progress_view_clear();
	for (size_t i = 0; i < shares->count; i++) {
		const char *path = shares->items[i].host;

		if (!shares->items[i].added)
			continue;
		text_printable(path, strlen(path), shown, sizeof(shown));
		fprintf(stderr,
			"bawn: %s is shared too, the repository of this work "
			"tree\n",
			shown);
	}
}

/* Once for each sandbox: which rules hold, and how to change them. */
static int say_policy(const struct ready *ready, struct error *err)
{
	if (!ready->created.is_new)
		return 0;
	if (spelling_now() == SPELLING_DOCKER &&
	    proxy_file_update(&ready->sandbox, PROXY_FILE_MAKE, err) < 0)
		return -1;
	return policy_say(&ready->sandbox, err);
}

static int start_ready(struct ready *ready, enum start_wait wait,
		       struct start *start, struct error *err)
{
	struct plan *plan = ready->created.is_new ? &ready->plan : NULL;

	bool has_keys = json_array_size(ready->keys) > 0;

	/* keys go to its launcher, which must be there */
	if (start_sandbox(&ready->sandbox, plan, has_keys ? START_WAIT : wait,
			  start, err) < 0)
		return -1;
	return has_keys ? keys_tell(&ready->sandbox, ready->keys, err) : 0;
}

/* One that cannot have its clone is of no use. */
static int clone_ready(struct ready *ready, struct error *err)
{
	struct plan *plan = ready->created.is_new ? &ready->plan : NULL;

	if (clone_ensure(&ready->sandbox, plan, err) == 0)
		return 0;
	if (ready->created.is_new)
		(void)removal_of(&ready->store, ready->sandbox.record.name,
				 NULL);
	return -1;
}

/* The user's settings of it come first: the agent's files add to them. */
static int bring_settings(struct ready *ready, const struct options *options,
			  struct error *err)
{
	AUTO_START struct start start = START_INIT;
	size_t at = 0;
	int any;

	if (!options_next(options, "settings", &at))
		return 0;
	if (start_ready(ready, START_WAIT, &start, err) < 0)
		return -1;
	any = agent_settings_copy(&ready->sandbox, ready->keys, options, err);
	if (any > 0)
		agent_setup_again(&ready->sandbox);
	if (any < 0 && ready->created.is_new)
		(void)removal_of(&ready->store, ready->sandbox.record.name,
				 NULL);
	return any < 0 ? -1 : 0;
}

/* The agent's own files, before it starts for the first time. */
static int set_up_agent(struct ready *ready, const struct options *options,
			struct error *err)
{
	AUTO_START struct start start = START_INIT;
	int due = bring_settings(ready, options, err);
	bool untried = ready->created.is_new &&
		       agent_setup_is_untried(&ready->sandbox);

	if (due == 0)
		due = agent_setup_is_due(&ready->sandbox, ready->keys, err);
	agent_setup_say_key(&ready->sandbox, ready->keys);
	if (due < 0 || (due == 0 && !untried))
		return due;
	if (start_ready(ready, START_WAIT, &start, err) < 0)
		return -1;
	start_release(&start);
	start = START_INIT;
	if (untried && agent_setup_try(&ready->sandbox, err) < 0) {
		(void)removal_of(&ready->store, ready->sandbox.record.name,
				 NULL);
		return -1;
	}
	return agent_setup(&ready->sandbox, ready->keys, err);
}

static int attach(struct ready *ready, const struct options *options,
		  bool *let_go, struct error *err)
{
	bool detach = options_flag(options, "detach");
	bool terminal = isatty(0) && isatty(1);
	AUTO_START struct start start = START_INIT;
	struct session_wish wish = { .tty = terminal || detach,
				     .keys = ready->keys,
				     .forward_stdin = !detach,
				     .detach = detach,
				     .named_agent =
					     ready->request.agent != NULL };
	/* a session on a terminal may find a live one first: it must run */
	enum start_wait wait = wish.tty ? START_WAIT : START_NO_WAIT;
	int result;

	do {
		start_release(&start);
		if (start_ready(ready, wait, &start, err) < 0)
			return -1;
		result = session_agent(&ready->sandbox, &start,
				       (const char *const *)options->rest,
				       &wish, let_go, err);
	} while (result < 0 && start_was_ending(&ready->sandbox, &start, err));
	if (result < 0)
		return result;
	if (detach)
		printf("%s\n", ready->sandbox.record.name);
	else if (*let_go)
		fprintf(stderr,
			"bawn: %s goes on (`bawn run %s` comes back to it)\n",
			ready->sandbox.record.name, ready->sandbox.record.name);
	return result;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_READY struct ready ready = READY_INIT;
	struct error failure = { 0 };
	bool let_go = false, removes;
	AUTO_MCP_HOST struct mcp_host mcp = { 0 };
	struct blocked_mark mark;
	int result;

	if (get_ready(options, &ready, err) < 0)
		return -1;
	removes = ready.created.owner >= 0;
	if (removes)
		guard_remove(ready.sandbox.record.name);
	say_what_is_added(&ready);
	if (say_policy(&ready, err) < 0 || clone_ready(&ready, err) < 0)
		return -1;
	mark = blocked_begin(&ready.sandbox);
	if (set_up_agent(&ready, options, err) < 0 ||
	    mcp_host_start(&mcp, &ready.sandbox, options, err) < 0)
		return -1;
	result = attach(&ready, options, &let_go, err);
	if (result > 0 && !let_go) {
		blocked_report(&ready.sandbox, &mark);
		blocked_report_logins(&ready.sandbox);
	}
	if (removes && !let_go &&
	    removal_of(&ready.store, ready.sandbox.record.name, &failure) < 0 &&
	    result >= 0) {
		*err = failure;
		result = -1;
	}
	return result;
}

static int create(const struct options *options, struct error *err)
{
	AUTO_READY struct ready ready = READY_INIT;
	AUTO_START struct start start = START_INIT;

	if (get_ready(options, &ready, err) < 0)
		return -1;
	say_what_is_added(&ready);
	if (say_policy(&ready, err) < 0 || clone_ready(&ready, err) < 0 ||
	    mcp_host_keep(ready.sandbox.folder, options, err) < 0 ||
	    set_up_agent(&ready, options, err) < 0 ||
	    start_ready(&ready, START_WAIT, &start, err) < 0)
		return -1;
	printf("%s\n", ready.sandbox.record.name);
	return 0;
}

int ready_make(const struct options *options, struct sandbox *sandbox,
	       json_t **keys, bool *ran_before, struct error *err)
{
	AUTO_READY struct ready ready = READY_INIT;
	AUTO_START struct start start = START_INIT;

	if (get_ready(options, &ready, err) < 0)
		return -1;
	*ran_before =
		fileio_is_locked(ready.sandbox.folder, STORE_ALIVE_FILE) == 1;
	say_what_is_added(&ready);
	if (say_policy(&ready, err) < 0 || clone_ready(&ready, err) < 0 ||
	    set_up_agent(&ready, options, err) < 0 ||
	    start_ready(&ready, START_WAIT, &start, err) < 0)
		return -1;
	*keys = TAKE_PTR(ready.keys);
	*sandbox = ready.sandbox;
	ready.sandbox = SANDBOX_INIT;
	return 0;
}

static const struct option_row own_rows[] = {
	{ "rm", '\0', OPTION_FLAG, NULL,
	  "a new sandbox that is removed when the agent ends", NULL,
	  OPTION_HERE },
	{ "detach", 'd', OPTION_FLAG, NULL,
	  "start the agent and come back; prints the sandbox's name", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_run = {
	.name = "run",
	.arguments = "[AGENT] [PATH[:ro]...] [-- ARGS...]",
	.help = "open an agent in the sandbox of a folder, made if missing",
	.details =
		"AGENT is shell if not given, PATH is the current folder. "
		"`bawn run NAME` comes back\nto a sandbox; on a terminal to "
		"the agent's live session, with its screen redrawn.\nCtrl-P "
		"Ctrl-Q lets go of it. ARGS that begin with \"-\" follow the "
		"agent's own flags;\na bare word replaces them (for shell: is "
		"the command to run).",
	.options = own_rows,
	.options_too = run_options,
	.options_more = sandbox_options,
	.completes = COMPLETE_RUN,
	.flags = COMMAND_TAKES_REST | COMMAND_USES_STORE,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 125,
	.run = run,
};

const struct command command_create = {
	.name = "create",
	.arguments = "[AGENT] [PATH[:ro]...]",
	.help = "make and start the sandbox of a folder, and print its name",
	.options = run_options,
	.options_more = sandbox_options,
	.completes = COMPLETE_RUN,
	.flags = COMMAND_USES_STORE,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = create,
};
