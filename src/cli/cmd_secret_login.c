/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_secret_login.c - secret login
 *
 * An agent in a sandbox logs in by itself. This command stands by meanwhile:
 * the service's token endpoint is watched from now on, and the port that the
 * browser comes back to leads into the sandbox, until the tokens are there, the
 * time is over, or it is interrupted. The port is in no record, so that it does
 * not outlive the machine whatever happens here.
 */
#include "cli/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/keys.h"
#include "cli/launcher.h"
#include "cli/options.h"
#include "cli/port_spec.h"
#include "cli/store.h"
#include "state/logins.h"
#include "state/paths.h"
#include "state/secret_store.h"
#include "state/services.h"

#define PATIENCE_MS (10 * 60 * 1000)

AUTO_DEFINE(json, json_t *, json_decref)

struct stand_by {
	const char *service;
	bool for_all;
	struct sandbox *sandbox;
	struct port_list ports; /* with those of the login */
	int folder;             /* owned: of the store */
	json_t *before;         /* owned: the tokens, or NULL */
};

static json_t *tokens_now(const struct stand_by *self)
{
	AUTO(json)
	json_t *own = secret_store_load(
		self->folder,
		self->for_all ? SECRET_STORE_ALL : self->sandbox->record.id,
		NULL);

	return json_incref(
		json_object_get(logins_of(own, self->service), "tokens"));
}

/* From now on the endpoint is watched; the sandbox is told. */
static int expect(struct stand_by *self, struct error *err)
{
	AUTO_CLOSE int lock = secret_store_lock(self->folder, err);
	AUTO(json) json_t *own = NULL;
	const char *scope = self->sandbox->record.id;
	int changed;

	if (lock < 0)
		return -1;
	own = secret_store_load(self->folder, scope, err);
	if (!own)
		return -1;
	changed = logins_expect(own, self->service);
	if (self->for_all) {
		/* Its own would win over that of all. */
		logins_remove(own, self->service);
		logins_expect_for_all(own, self->service,
				      time(NULL) + PATIENCE_MS / 1000);
		changed = 1;
	}
	if (changed && secret_store_save(self->folder, scope, own, err) < 0)
		return -1;
	close(TAKE_FD(lock));
	self->before = tokens_now(self);
	return keys_tell(self->sandbox, NULL, err);
}

/* Nobody stands by any more: a login that comes now is this sandbox's. */
static int expect_no_more(struct stand_by *self, struct error *err)
{
	AUTO_CLOSE int lock = secret_store_lock(self->folder, err);
	const char *scope = self->sandbox->record.id;
	AUTO(json)
	json_t *own =
		lock < 0 ? NULL : secret_store_load(self->folder, scope, err);

	if (!own)
		return -1;
	if (!json_object_get(logins_of(own, self->service), "all"))
		return 0;
	json_object_del(logins_of(own, self->service), "all");
	return secret_store_save(self->folder, scope, own, err);
}

static int add_port(struct port_list *list, const char *text, struct error *err)
{
	struct port_record port;

	if (port_spec_parse(text, &port, err) < 0)
		return options_usage(err, "%s", err->text);
	/* The browser is sent to the very port that the agent listens on. */
	port.host = port.guest;
	if (port_list_find(list, port.address, port.host))
		return 0;
	return port_list_add(list, &port) < 0
		       ? error_set(err, E2BIG, "ports of %s", text)
		       : 0;
}

static int add_ports(struct stand_by *self, const struct options *options,
		     const json_t *service, struct error *err)
{
	json_t *list = json_object_get(service, SERVICE_CALLBACKS), *item;
	const char *text;
	size_t at = 0, i;

	self->ports = self->sandbox->record.ports;
	json_array_foreach(list, i, item)
	{
		if (add_port(&self->ports, json_string_value(item), err) < 0)
			return -1;
	}
	while ((text = options_next(options, "port", &at))) {
		if (add_port(&self->ports, text, err) < 0)
			return -1;
	}
	return 0;
}

static int publish(const struct stand_by *self, const struct port_list *list,
		   struct error *err)
{
	if (self->ports.count == self->sandbox->record.ports.count)
		return 0;
	return launcher_ask(self->sandbox,
			    json_pack("{s:s, s:o}", "op", "ports", "published",
				      port_list_encode(list)),
			    err);
}

static bool has_come(const struct stand_by *self)
{
	AUTO(json) json_t *tokens = tokens_now(self);

	return json_object_get(tokens, LOGIN_ACCESS) &&
	       !json_equal(tokens, self->before);
}

static void hold_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* Until the tokens are there; the store's files are replaced as a whole. */
static int wait_for_tokens(const struct stand_by *self, struct error *err)
{
	AUTO_FREE char *path = paths_of(PATHS_STATE, SECRET_STORE_FOLDER, err);
	AUTO_CLOSE int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	uint64_t end_ms = loop_now_ms() + PATIENCE_MS, now;
	AUTO_CLOSE int signals = -1;
	char events[4096];
	sigset_t set;

	hold_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (!path || notify < 0 || signals < 0 ||
	    inotify_add_watch(notify, path, IN_MOVED_TO) < 0)
		return error_set(err, errno, "inotify");
	while (!has_come(self)) {
		struct pollfd both[] = { { .fd = notify, .events = POLLIN },
					 { .fd = signals, .events = POLLIN } };

		now = loop_now_ms();
		if (now >= end_ms)
			return error_set(err, 0, "nobody has logged in");
		(void)poll(both, 2, (int)(end_ms - now));
		if (both[1].revents)
			return error_set(err, 0, "interrupted");
		while (read(notify, events, sizeof(events)) > 0)
			;
	}
	return 0;
}

static int stand_by(struct stand_by *self, struct error *err)
{
	struct error other = { 0 };
	sigset_t set;
	int result;

	/* Whoever ends this must not leave the port behind. */
	hold_signals(&set);
	if (expect(self, err) < 0 || publish(self, &self->ports, err) < 0)
		return -1;
	fprintf(stderr,
		"bawn: log in to %s in sandbox %s now; this waits for it "
		"(Ctrl-C ends it)\n",
		self->service, self->sandbox->record.name);
	result = wait_for_tokens(self, err);
	/* Also when it has failed: nobody else takes the port back. */
	if (publish(self, &self->sandbox->record.ports, &other) < 0 &&
	    result == 0)
		return error_set(err, other.code, "%s", other.text);
	if (self->for_all && (result < 0 ? expect_no_more(self, &other)
					 : keys_tell_all(&other)) < 0)
		fprintf(stderr, "bawn: %s\n", other.text);
	if (result == 0)
		printf("%s\n", self->service);
	return result;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO(json) json_t *services = services_load(err);
	const char *name = options_value(options, "sandbox");
	struct stand_by self = { .service = options->words[0],
				 .for_all = options_flag(options, "all"),
				 .sandbox = &sandbox };
	const json_t *service = services_find(services, self.service);
	int result;

	if (!services)
		return -1;
	if (!name)
		return options_usage(err, "--sandbox NAME: which one logs in?");
	if (!json_array_size(json_object_get(service, SERVICE_ENDPOINTS)))
		return options_usage(err,
				     "%s is no service that one logs in to "
				     "(claude-code, chatgpt, github)",
				     self.service);
	if (self.for_all &&
	    !json_array_size(json_object_get(service, "variables")))
		return options_usage(err,
				     "--all: %s has no variable that would "
				     "tell other sandboxes of it",
				     self.service);
	secret_store_wipe_json();
	if (sandbox_open(name, &sandbox, err) < 0)
		return -1;
	self.folder = secret_store_open(err);
	if (self.folder < 0)
		return -1;
	result = add_ports(&self, options, service, err);
	if (result == 0)
		result = stand_by(&self, err);
	json_decref(self.before);
	close(self.folder);
	return result;
}

static const struct option_row rows[] = {
	{ "sandbox", '\0', OPTION_VALUE, "NAME", "the sandbox that logs in",
	  COMPLETE_SANDBOXES, OPTION_HERE },
	{ "all", '\0', OPTION_FLAG, NULL,
	  "the login is for all sandboxes, as a secret is", NULL, OPTION_HERE },
	{ "port", '\0', OPTION_LIST, "PORT",
	  "another port that the browser comes back to", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_secret_login = {
	.name = "secret login",
	.arguments = "SERVICE",
	.help = "stand by while an agent in a sandbox logs in",
	.details = "SERVICE is claude-code, chatgpt or github. The tokens stay "
		   "on the host, the sandbox gets\nplaceholders. Until they "
		   "have come, ten minutes at most, the port of your own\n"
		   "loopback that the browser comes back to leads into the "
		   "sandbox. The login is\nrenewed by itself; `bawn secret ls` "
		   "says how long it lasts.",
	.options = rows,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
