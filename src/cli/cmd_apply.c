/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_apply.c - apply and discard: what becomes of a sandbox's changes
 */
#include "cli/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "changes/apply_hold.h"
#include "changes/apply_room.h"
#include "changes/change_apply.h"
#include "cli/changes.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/stream.h"
#include "state/share_list.h"

AUTO_DEFINE(json, json_t *, json_decref)

#define NAMES_MAX 8

/* What was left out since nobody named it. */
struct withheld {
	char *names[NAMES_MAX]; /* owned; each once */
	char *last;             /* owned; that had no room there */
	size_t count, more;
	json_t *paths;
};

struct tally {
	struct changes_share *one;
	bool *applied;            /* owned; for each change of the share */
	struct apply_hold *holds; /* borrowed; for each share */
	size_t applied_count, wanted_count, conflicts, unkept;
	json_t *applied_paths, *conflict_paths;
	struct withheld withheld;
};

static json_t *path_json(const struct changes_share *one, const char *path)
{
	AUTO_FREE char *quoted = diff_text_quote(one->prefix, path);
	json_t *plain = json_sprintf("%s%s", one->prefix, path);

	return plain ? plain : json_string(quoted);
}

static void on_applied(void *ctx, size_t at)
{
	struct tally *tally = ctx;

	tally->applied[at] = true;
	tally->applied_count++;
	json_array_append_new(
		tally->applied_paths,
		path_json(tally->one, tally->one->list.changes[at].path));
}

static bool may_link(void *ctx, const char *path)
{
	return changes_may_link(((struct tally *)ctx)->one, path);
}

static void tell_conflicts(struct tally *tally, bool force, bool quiet)
{
	const struct change_list *list = &tally->one->list;

	for (size_t i = 0; !force && i < list->count; i++) {
		const struct change *change = &list->changes[i];
		AUTO_FREE char *name = NULL;

		/* what becomes another type is two changes, of which one is
		 * told */
		if (!change->conflict ||
		    (i && change[-1].conflict &&
		     !strcmp(change[-1].path, change->path)))
			continue;
		tally->conflicts++;
		json_array_append_new(tally->conflict_paths,
				      path_json(tally->one, change->path));
		name = diff_text_quote(tally->one->prefix, change->path);
		if (!quiet)
			fprintf(stderr, "bawn: %s: %s\n", name,
				change->conflict);
	}
}

static void withheld_release(struct withheld *withheld)
{
	for (size_t i = 0; i < withheld->count; i++)
		free(withheld->names[i]);
	free(withheld->last);
}

static void add_name(struct withheld *withheld, char *name)
{
	for (size_t i = 0; i < withheld->count; i++) {
		if (!strcmp(withheld->names[i], name)) {
			free(name);
			return;
		}
	}
	if (withheld->count < NAMES_MAX) {
		withheld->names[withheld->count++] = name;
		return;
	}
	withheld->more += !withheld->last || strcmp(withheld->last, name) != 0;
	free(withheld->last);
	withheld->last = name;
}

static void note_withheld(struct tally *tally)
{
	const struct changes_share *one = tally->one;

	for (size_t i = 0; i < one->list.count; i++) {
		const struct change *change = &one->list.changes[i];

		if (!change->withheld)
			continue;
		json_array_append_new(tally->withheld.paths,
				      path_json(one, change->path));
		/* what lies beneath another goes with that */
		if (change->own)
			add_name(&tally->withheld,
				 changes_held_name(one, change));
	}
}

static void tell_withheld(const struct withheld *withheld, const char *sandbox)
{
	if (!json_array_size(withheld->paths))
		return;
	fputs("bawn: left out, as tools of the host run or believe them "
	      "unasked:",
	      stderr);
	for (size_t i = 0; i < withheld->count; i++)
		fprintf(stderr, "%s %s", i ? "," : "", withheld->names[i]);
	if (withheld->more)
		fprintf(stderr, " and %zu more", withheld->more);
	fprintf(stderr,
		" (look with `bawn diff %s PATH`, then `bawn apply %s PATH`)\n",
		sandbox, sandbox);
}

static struct apply_setup setup_of(const struct changes *changes, size_t at,
				   struct tally *tally,
				   const struct options *options)
{
	const struct changes_share *one = &changes->shares[at];

	return (struct apply_setup){ .set = &one->set,
				     .root = one->root,
				     .force = options_flag(options, "force"),
				     .applied = on_applied,
				     .may_link = may_link,
				     .ctx = tally,
				     .unkept = &tally->unkept,
				     .hold = &tally->holds[at] };
}

/* Before the first change. */
static int check_room(const struct changes *changes, struct tally *tally,
		      const struct options *options, struct error *err)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_share *one = &changes->shares[i];
		struct apply_setup setup = setup_of(changes, i, tally, options);

		if (!one->wanted)
			continue;
		if (changes_quota_check(changes, i, &setup, err) < 0 ||
		    apply_room_check(&setup, &one->list, err) < 0)
			return error_prefix(err, "%s", one->share->host);
		for (size_t j = 0; j < one->list.count; j++)
			tally->wanted_count +=
				apply_wants(&setup, &one->list.changes[j]);
	}
	return 0;
}

static int apply_share(struct changes *changes, size_t at, struct tally *tally,
		       const struct options *options, struct error *err)
{
	struct changes_share *one = &changes->shares[at];
	AUTO_FREE bool *applied = xcalloc(one->list.count + 1, sizeof(bool));
	struct apply_setup setup = setup_of(changes, at, tally, options);
	int result;

	tally->one = one;
	tally->applied = applied;
	tell_conflicts(tally, setup.force, options_flag(options, "json"));
	note_withheld(tally);
	result = change_apply(&setup, &one->list, err);
	if (changes_quota_note(changes, at, &setup, applied,
			       result < 0 ? NULL : err) < 0 ||
	    changes_note_applied(changes, at, applied,
				 result < 0 ? NULL : err) < 0)
		return -1;
	return result;
}

static void tell_applied(const struct tally *tally,
			 const struct options *options)
{
	AUTO(json) json_t *answer = NULL;

	if (!options_flag(options, "json")) {
		fprintf(stderr, "bawn: applied %zu", tally->applied_count);
		if (tally->applied_count < tally->wanted_count)
			fprintf(stderr, " of %zu", tally->wanted_count);
		fprintf(stderr, " change%s\n",
			tally->wanted_count == 1 ? "" : "s");
		return;
	}
	answer = json_pack("{s:O, s:O, s:O}", "applied", tally->applied_paths,
			   "conflicts", tally->conflict_paths, "held",
			   tally->withheld.paths);
	print_json(answer);
}

static struct apply_hold *holds_new(size_t count)
{
	struct apply_hold *holds = xcalloc(count + 1, sizeof(*holds));

	for (size_t i = 0; i < count; i++)
		holds[i] = APPLY_HOLD_INIT;
	return holds;
}

static void holds_release(struct apply_hold *holds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		apply_hold_release(&holds[i]);
}

static int apply_shares(struct changes *changes, struct tally *tally,
			const struct options *options, struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < changes->count; i++)
		if (changes->shares[i].wanted &&
		    apply_share(changes, i, tally, options,
				result < 0 ? NULL : err) < 0)
			result = -1;
	return result;
}

/* 1: something was left out that was not named. */
static int apply_all(struct changes *changes, const struct options *options,
		     struct error *err)
{
	AUTO(json) json_t *applied = json_array(), *conflicts = json_array();
	AUTO(json) json_t *held = json_array();
	AUTO_FREE struct apply_hold *holds = holds_new(changes->count);
	struct tally tally = { .holds = holds,
			       .applied_paths = applied,
			       .conflict_paths = conflicts,
			       .withheld = { .paths = held } };
	int result = check_room(changes, &tally, options, err);
	bool begun = result == 0;

	if (begun)
		result = apply_shares(changes, &tally, options, err);
	holds_release(holds, changes->count);
	if (!begun)
		return -1;
	tell_applied(&tally, options);
	if (tally.unkept)
		fprintf(stderr,
			"bawn: the host's file system keeps no attributes: "
			"%zu left out\n",
			tally.unkept);
	tell_withheld(&tally.withheld, options->words[0]);
	withheld_release(&tally.withheld);
	if (result == 0 && tally.conflicts)
		return error_set(err, 0,
				 "%zu in conflict with changes of the host "
				 "left out (-f overwrites)",
				 tally.conflicts);
	return result == 0 ? json_array_size(held) > 0 : result;
}

static int run_apply(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_CHANGES struct changes changes = CHANGES_INIT;
	bool unseen = false;
	int result;

	if (sandbox_open(options->words[0], &sandbox, err) < 0 ||
	    changes_open(&changes, &sandbox, options->words + 1, err) < 0)
		return -1;
	if (changes_load(&changes, err) < 0) {
		if (err->code != ENOENT)
			return -1;
		/* nobody has looked: then what is there now */
		unseen = true;
		if (changes_freeze(&changes, err) < 0 ||
		    changes_load(&changes, err) < 0)
			return stream_signal() ? 128 + stream_signal() : -1;
	}
	result = apply_all(&changes, options, err);
	/*
	 * What is left in part can be applied later, as it was shown. For what
	 * nobody has seen there was no room: the next time it may be less.
	 */
	if ((result == 0 && !options->words[1]) ||
	    (result < 0 && unseen &&
	     (err->code == ENOSPC || err->code == EDQUOT)))
		changes_forget(&changes);
	return result;
}

static int discard_paths(struct changes *changes,
			 const struct changes_share *one, struct error *err)
{
	AUTO_STREAM struct stream stream = STREAM_INIT;
	char number[16];
	const char *args[] = { "discard", number, one->share->guest, NULL };
	int result = 0;

	text_format(number, sizeof(number), "%u", one->number);
	if (stream_open(&stream, changes->sandbox, args, err) < 0)
		return -1;
	for (size_t i = 0; result == 0 && one->paths[i]; i++)
		result = stream_write(&stream, one->paths[i],
				      strlen(one->paths[i]) + 1, err);
	if (result == 0 || stream.exited)
		result = stream_finish(&stream, err);
	return result;
}

/*
 * Who discards all has no version of its own of anything that the host has now:
 * what the guest changes next stands on that.
 */
static int discard_share(struct changes *changes,
			 const struct changes_share *one, struct error *err)
{
	if (one->paths[0])
		return discard_paths(changes, one, err);
	if (changes_look(changes, one, err) < 0 ||
	    discard_paths(changes, one, err) < 0)
		return -1;
	return changes_rebase(changes, one, err);
}

static bool may_discard(const struct options *options, struct error *err)
{
	char question[160];

	if (options_flag(options, "force"))
		return true;
	if (!isatty(0) || !isatty(2)) {
		error_set(err, 0,
			  "discard drops changes for good: without a terminal "
			  "it needs -f");
		return false;
	}
	text_format(question, sizeof(question),
		    "Discard %s changes of %s for good?",
		    options->words[1] ? "these" : "all", options->words[0]);
	if (print_ask(question))
		return true;
	error_set(err, 0, "nothing was discarded");
	return false;
}

static int run_discard(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_CHANGES struct changes changes = CHANGES_INIT;

	if (sandbox_open(options->words[0], &sandbox, err) < 0 ||
	    changes_open(&changes, &sandbox, options->words + 1, err) < 0 ||
	    !may_discard(options, err))
		return -1;
	/* what was shown is no longer what there is */
	changes_forget(&changes);
	for (size_t i = 0; i < changes.count; i++)
		if (changes.shares[i].wanted &&
		    discard_share(&changes, &changes.shares[i], err) < 0)
			return stream_signal() ? 128 + stream_signal() : -1;
	return 0;
}

static const struct option_row apply_rows[] = {
	{ "force", 'f', OPTION_FLAG, NULL,
	  "overwrite what the host changed meanwhile", NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_apply = {
	.name = "apply",
	.arguments = "NAME [PATH...]",
	.help = "write what diff showed to the host's folder",
	.details = "What the host changed meanwhile is left as it is, and what "
		   "a tool of the host runs or\nbelieves unasked (hooks, "
		   "settings) unless PATH names it; the exit code is 1 then.",
	.options = apply_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = run_apply,
};

static const struct option_row discard_rows[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_discard = {
	.name = "discard",
	.arguments = "NAME [PATH...]",
	.help = "drop what a sandbox changed",
	.details = "The sandbox then sees the host's files again.",
	.options = discard_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = run_discard,
};
