/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone.c - clone mode: a private clone of the workspace on the guest's disk
 *
 * Everything that reads the repository runs in the guest, from a share that is
 * read-only: what its config and attributes name can only run there.
 */
#include "cli/clone.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/clone_modules.h"
#include "cli/clone_source.h"
#include "cli/git_remote.h"
#include "cli/hidden.h"
#include "cli/progress_view.h"
#include "cli/relay.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/share_apply.h"
#include "cli/start.h"
#include "cli/store.h"

#define INTERRUPTED 128 /* exit codes from here on are signals */
#define SCRIPT_ARGS 4
#define HIDDEN_BYTES_MAX \
	(96u * 1024) /* one argument of a program has no more */

AUTO_DEFINE(json, json_t *, json_decref)

/* $1 workspace */
static const char make_folder[] =
	"mkdir -p -- \"$1\" && chown 1000:1000 \"$1\"";

/*
 * $1 workspace, $2 origin. By way of a folder within, because other shares may
 * be mounted beneath the workspace; again from the start after a failure.
 */
static const char make_clone[] =
	"set -e\n"
	"if ! command -v git >/dev/null; then\n"
	"	echo 'its template has no git (try -t base)' >&2\n"
	"	exit 1\n"
	"fi\n"
	"cd -- \"$1\"\n"
	"rm -rf .git .bawn-clone\n"
	/* git overlooks that a worktree's repository is shallow */
	"case $2 in */worktrees/*) how=--no-local ;; *) how=--no-hardlinks ;; "
	"esac\n"
	"git clone -q --no-checkout $how --origin origin -- \"$2\" "
	".bawn-clone\n"
	"mv .bawn-clone/.git .git\n"
	"rmdir .bawn-clone\n"
	"if git rev-parse -q --verify HEAD >/dev/null; then\n"
	"	git reset -q --hard\n"
	"fi\n";

/*
 * $1 workspace, $2 origin, $3 the host's work tree, $4 what is hidden of that.
 * A tracked file that is hidden looks deleted there: it stays as it was
 * committed, or a commit of everything inside would delete it.
 */
static const char carry_in[] =
	"set -e\n"
	"export GIT_OPTIONAL_LOCKS=0\n"
	"of_host() {\n"
	"	git -c core.fsmonitor=false -c core.hooksPath=/dev/null "
	"-c core.bare=false --git-dir=\"$from\" --work-tree=\"$tree\" \"$@\"\n"
	"}\n"
	"from=$2 tree=$3\n"
	"cd -- \"$1\"\n"
	"patch=$PWD/.git/bawn-changes others=$PWD/.git/bawn-others\n"
	"hidden=$PWD/.git/bawn-hidden\n"
	"printf '%s\\n' \"$4\" >\"$hidden\"\n"
	"cd -- \"$tree\"\n"
	"base=$(of_host rev-parse -q --verify HEAD || "
	"git hash-object -t tree /dev/null)\n"
	"of_host diff --no-ext-diff --no-textconv --no-renames --binary "
	"--full-index --ignore-submodules=all \"$base\" >\"$patch\"\n"
	"of_host ls-files -o -z --exclude-standard >\"$others\"\n"
	"cd -- \"$OLDPWD\"\n"
	"if [ -s \"$patch\" ]; then git apply --whitespace=nowarn \"$patch\"; "
	"fi\n"
	"tar -C \"$tree\" --null --verbatim-files-from --no-recursion "
	"-T \"$others\" -cf - | tar -xf -\n"
	"git ls-files -z -c -i --exclude-from=\"$hidden\" | "
	"git checkout-index -q -f -z --stdin\n"
	"rm -f \"$patch\" \"$others\" \"$hidden\"\n";

int clone_check(const struct request *request, struct error *err)
{
	AUTO_CLONE_SOURCE struct clone_source source = { 0 };

	if (!request->mode || strcmp(request->mode, "clone"))
		return 0;
	if (clone_source_of(&request->shares.items[0], &source, err) < 0)
		return -1;
	if (source.bare && request->with_changes)
		return error_set(err, 0,
				 "--with-changes: a bare repository has no "
				 "work tree");
	return 0;
}

/* The last line that a script wrote to stderr, and what it said. */
struct last_words {
	char line[256];
	size_t len;
	bool ended;
	struct clone_modules modules;
};

static long take_words(void *ctx, bool is_error, uint8_t *bytes, size_t len,
		       struct error *err)
{
	struct last_words *words = ctx;

	if (!is_error)
		clone_modules_hear(&words->modules, bytes, len);
	for (size_t i = 0; is_error && i < len; i++) {
		if (bytes[i] == '\n') {
			words->ended = true;
			continue;
		}
		if (words->ended)
			words->len = 0;
		words->ended = false;
		if (words->len < sizeof(words->line))
			words->line[words->len++] = (char)bytes[i];
	}
	return 0;
}

static int run_script(struct sandbox *sandbox, struct plan *plan,
		      const char *user, const char *script,
		      const char *const args[SCRIPT_ARGS], struct error *err)
{
	const char *argv[] = { "sh",    "-c",    script,  "sh", args[0],
			       args[1], args[2], args[3], NULL };
	struct last_words words = { .len = 0 };
	struct relay_filter filter = { .take = take_words, .ctx = &words };
	struct session_wish wish = { .user = user,
				     .folder = "/",
				     .filter = &filter };
	AUTO_START struct start start = START_INIT;
	char shown[300];
	int code;

	if (start_sandbox(sandbox, plan, START_WAIT, &start, err) < 0)
		return -1;
	code = session_exec(sandbox, &start, argv, &wish, err);
	if (code == 0 && words.modules.len) {
		progress_view_clear();
		clone_modules_tell(&words.modules, sandbox->record.name);
	}
	if (code <= 0)
		return code;
	if (code > INTERRUPTED)
		return error_set(err, 0, "the clone was interrupted");
	text_printable(words.line, words.len, shown, sizeof(shown));
	return error_set(err, 0, "cloning in the sandbox: %s",
			 words.len ? shown : "git failed");
}

/* What is hidden of the work tree, as lines: its patterns are those of git. */
static int hidden_lines(const struct sandbox_record *record,
			struct buffer *lines, struct error *err)
{
	AUTO(json) json_t *patterns = hidden_of(record, 0, err);
	json_t *pattern;
	size_t i;

	if (!patterns)
		return -1;
	json_array_foreach(patterns, i, pattern)
	{
		if (buffer_printf(lines, "%s\n", json_string_value(pattern)) <
		    0)
			return error_set(err, 0,
					 "too many hidden paths for "
					 "--with-changes");
	}
	return 0;
}

static int carry_changes(struct sandbox *sandbox,
			 const struct clone_source *source, struct error *err)
{
	AUTO_BUFFER struct buffer hidden = BUFFER_INIT(HIDDEN_BYTES_MAX);
	const struct sandbox_record *record = &sandbox->record;
	const char *args[SCRIPT_ARGS] = { record->shares.items[0].guest,
					  source->origin, CLONE_CHANGES, "" };

	if (hidden_lines(record, &hidden, err) < 0)
		return -1;
	args[3] = buffer_str(&hidden);
	return run_script(sandbox, NULL, NULL, carry_in, args, err);
}

static int clone_in_guest(struct sandbox *sandbox, struct plan *plan,
			  const struct clone_source *source, struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	const char *args[SCRIPT_ARGS] = { record->shares.items[0].guest,
					  source->origin, "", "" };

	if (run_script(sandbox, plan, "root", make_folder, args, err) < 0 ||
	    run_script(sandbox, NULL, NULL, make_clone, args, err) < 0 ||
	    run_script(sandbox, NULL, NULL, clone_modules_script, args, err) <
		    0)
		return -1;
	return record->with_changes ? carry_changes(sandbox, source, err) : 0;
}

/* From now on the host's work tree is out of the guest's sight. */
static int note_done(struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int lock = fileio_lock(sandbox->folder, STORE_LOCK_FILE,
					  FILEIO_LOCK_WAIT, err);
	struct sandbox_record *record = &sandbox->record;
	bool had_changes = record->with_changes;

	if (lock < 0)
		return -1;
	sandbox_record_release(record);
	if (sandbox_record_load(sandbox->folder, record, err) < 0)
		return -1;
	record->with_changes = false;
	record->cloned = true;
	if (had_changes)
		return share_apply(sandbox, err);
	return sandbox_record_save(sandbox->folder, record, err);
}

static void add_remote(const struct sandbox *sandbox,
		       const struct clone_source *source)
{
	struct error err = { 0 };

	if (git_remote_add(source->host, sandbox->record.name, sandbox->folder,
			   &err) == 0)
		return;
	progress_view_clear();
	fprintf(stderr,
		"bawn: no remote sandbox-%s was added: %s (fetch from "
		"bawn::%s instead)\n",
		sandbox->record.name, err.text, sandbox->record.name);
}

void clone_publish(const struct sandbox *sandbox)
{
	AUTO_CLONE_SOURCE struct clone_source source = { 0 };
	struct error err = { 0 };

	if (!clone_mode(&sandbox->record))
		return;
	if (clone_source_of(&sandbox->record.shares.items[0], &source, &err) ==
	    0)
		add_remote(sandbox, &source);
	else
		log_debug("remote: %s", err.text);
}

int clone_ensure(struct sandbox *sandbox, struct plan *plan, struct error *err)
{
	AUTO_CLONE_SOURCE struct clone_source source = { 0 };
	const struct sandbox_record *record = &sandbox->record;

	if (!clone_mode(record) || record->cloned)
		return 0;
	if (clone_source_of(&record->shares.items[0], &source, err) < 0)
		return -1;
	progress_step(progress_view(), "cloning the repository");
	if (clone_in_guest(sandbox, plan, &source, err) < 0)
		return -1;
	progress_done(progress_view());
	if (note_done(sandbox, err) < 0)
		return -1;
	add_remote(sandbox, &source);
	return 0;
}

void clone_forget(const struct sandbox_record *record, int folder)
{
	AUTO_CLONE_SOURCE struct clone_source source = { 0 };
	struct error err = { 0 };

	if (!clone_mode(record) || !record->shares.count)
		return;
	if (clone_source_of(&record->shares.items[0], &source, &err) < 0 ||
	    git_remote_remove(source.host, record->name, folder, &err) < 0)
		log_debug("remote sandbox-%s: %s", record->name, err.text);
}
