/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_helper.c - git-remote-bawn: fetch from a sandbox in clone mode
 *
 * git starts it for remotes "bawn::NAME" and speaks lines with it (gitremote-
 * helpers(7)). It offers one thing: a connection to git-upload-pack, which runs
 * in the guest as a session, so that nothing listens anywhere. What comes back
 * passes a filter and has an end: git would write objects until the disk is
 * full, and keep names until memory is; what it keeps of objects has an end of
 * its own (fetch_limit.h).
 */
#include "cli/remote_helper.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/clone_source.h"
#include "cli/fetch_leftover.h"
#include "cli/fetch_limit.h"
#include "cli/pkt_filter.h"
#include "cli/progress_view.h"
#include "cli/relay.h"
#include "cli/session.h"
#include "cli/start.h"
#include "cli/store.h"

#define PROGRAM "git-remote-bawn"
#define LINE_BYTES 256
#define FAILED 128 /* as git's own programs */
#define MOST_VARIABLE "BAWN_FETCH_MAX"
#define MOST_BYTES (4ull << 30)
#define WORDS_BYTES (64ull << 20) /* half a million branches */
#define FIRST_LOOK_BYTES (256ull << 10)

AUTO_DEFINE(json, json_t *, json_decref)

struct words {
	struct pkt_filter lines;
	uint8_t before;      /* of stderr */
	uint64_t said_bytes; /* on stderr */
	uint64_t most_bytes; /* of objects */
	uint64_t next_look;  /* when as many have come */
	struct fetch_leftover left;
};

bool remote_helper_called(const char *program)
{
	const char *slash = strrchr(program, '/');

	return !strcmp(slash ? slash + 1 : program, PROGRAM);
}

/* Byte by byte: what follows the last command belongs to the guest. */
static int read_line(char line[LINE_BYTES], struct error *err)
{
	size_t len = 0;

	while (len < LINE_BYTES) {
		ssize_t got = read(STDIN_FILENO, line + len, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "stdin");
		if (!got && !len)
			return 0;
		if (!got || line[len] == '\n') {
			line[len] = '\0';
			return 1;
		}
		len++;
	}
	return error_set(err, 0, "git said too long a line");
}

static int answer(const char *text, struct error *err)
{
	return fileio_write_all(STDOUT_FILENO, text, strlen(text), err);
}

static int check(struct words *words, bool is_error, uint8_t *bytes, size_t len,
		 struct error *err)
{
	if (is_error) {
		pkt_filter_text(&words->before, bytes, len);
		words->said_bytes += len;
	} else if (pkt_filter(&words->lines, bytes, len) < 0) {
		return error_set(err, 0,
				 "what the sandbox says is not git's protocol");
	}
	if (words->lines.data_bytes > words->most_bytes)
		return error_set(err, 0,
				 "the sandbox sent more than %llu bytes of "
				 "objects (" MOST_VARIABLE
				 "=SIZE lets more in)",
				 (unsigned long long)words->most_bytes);
	if (words->lines.text_bytes > WORDS_BYTES ||
	    words->said_bytes > WORDS_BYTES)
		return error_set(err, 0, "the sandbox says too much");
	return 0;
}

static long take(void *ctx, bool is_error, uint8_t *bytes, size_t len,
		 struct error *err)
{
	struct words *words = ctx;
	int failed = check(words, is_error, bytes, len, err);

	/* git begins with another file, or ends, when it likes to */
	if (failed || words->lines.data_bytes >= words->next_look) {
		fetch_leftover_look(&words->left);
		words->next_look = 2 * words->lines.data_bytes;
	}
	return failed ? -1 : (long)len;
}

/* How many bytes of objects one fetch may bring. */
static int most_of(const struct sandbox_record *record, uint64_t *bytes,
		   struct error *err)
{
	const char *text = getenv(MOST_VARIABLE);

	*bytes = record->quota_bytes ? record->quota_bytes : MOST_BYTES;
	if (text && text_to_size(text, bytes) < 0)
		return error_set(err, 0, MOST_VARIABLE " is not a size: %s",
				 text);
	return 0;
}

/* The version that both ends speak is git's choice; nothing else passes. */
static json_t *protocol(void)
{
	const char *asked = getenv("GIT_PROTOCOL");
	json_t *variables = json_object();

	if (asked &&
	    (!strcmp(asked, "version=2") || !strcmp(asked, "version=1")))
		json_object_set_new(variables, "GIT_PROTOCOL",
				    json_string(asked));
	return variables;
}

static int connect_to(struct sandbox *sandbox, const char *module,
		      struct error *err)
{
	AUTO_FREE char *folder = xasprintf(
		"%s/%s", sandbox->record.shares.items[0].guest, module);
	const char *argv[] = { "git-upload-pack", "--", folder, NULL };
	AUTO(json) json_t *variables = protocol();
	struct words words = { .next_look = FIRST_LOOK_BYTES,
			       .left = FETCH_LEFTOVER_INIT };
	struct relay_filter filter = { .take = take, .ctx = &words };
	struct session_wish wish = { .variables = variables,
				     .folder = "/",
				     .forward_stdin = true,
				     .filter = &filter };
	AUTO_START struct start start = START_INIT;
	int code;

	if (most_of(&sandbox->record, &words.most_bytes, err) < 0 ||
	    fetch_limit_set(&words.left.git, err) < 0 ||
	    start_sandbox(sandbox, NULL, START_WAIT, &start, err) < 0)
		return -1;
	progress_view_clear();
	if (answer("\n", err) < 0)
		return -1;
	code = session_exec(sandbox, &start, argv, &wish, err);
	fetch_leftover_remove(&words.left);
	return code;
}

/* NAME or NAME:PATH; what is at PATH is looked for in the guest only. */
static int open_named(const char *address, struct sandbox *sandbox,
		      struct error *err)
{
	AUTO_FREE char *name = xstrndup(address, strcspn(address, ":"));

	if (sandbox_name_check(name, err) < 0 ||
	    sandbox_open(name, sandbox, err) < 0)
		return -1;
	if (!clone_mode(&sandbox->record) || !sandbox->record.shares.count)
		return error_set(err, 0,
				 "sandbox %s is not in clone mode: its "
				 "workspace is the folder itself",
				 name);
	return 0;
}

static const char *module_of(const char *address)
{
	const char *colon = strchr(address, ':');

	return colon ? colon + 1 : "";
}

/* The exit code; negative with err set. */
static int serve(struct sandbox *sandbox, const char *module, struct error *err)
{
	char line[LINE_BYTES];
	int got;

	while ((got = read_line(line, err)) > 0 && line[0]) {
		if (!strcmp(line, "capabilities"))
			got = answer("connect\n\n", err);
		else if (!strcmp(line, "connect git-upload-pack"))
			return connect_to(sandbox, module, err);
		else if (!strcmp(line, "connect git-receive-pack"))
			return error_set(err, 0,
					 "a sandbox takes no push (fetch from "
					 "origin in the sandbox instead)");
		else
			return error_set(err, 0,
					 "git wants what a sandbox does not "
					 "offer");
		if (got < 0)
			break;
	}
	return got < 0 ? -1 : 0;
}

int remote_helper_run(int argc, const char *const *argv)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	struct error err = { 0 };
	char line[LINE_BYTES];
	int code = -1;

	/* a git that was killed leaves no session behind */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (argc != 3)
		error_set(&err, 0,
			  "git runs this for remotes bawn::NAME and "
			  "bawn::NAME:SUBMODULE");
	else if (open_named(argv[2], &sandbox, &err) == 0)
		code = serve(&sandbox, module_of(argv[2]), &err);
	else
		/* git would die of the pipe that nobody read, without a word */
		(void)read_line(line, NULL);
	if (code >= 0)
		return code;
	progress_view_clear();
	fprintf(stderr, "bawn: %s\n", err.text);
	return FAILED;
}
