/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_review.c - review: what the guard holds back, and what it lets through
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
#include "cli/launcher.h"
#include "cli/print.h"
#include "cli/review.h"
#include "cli/store.h"

#define SHOWN_BYTES 4096
#define DIFF_BYTES_MAX (64U << 20)

/* The name of an item, fit for a terminal and for JSON. */
static void printable(const struct review *review,
		      const struct review_item *item, char shown[SHOWN_BYTES])
{
	AUTO_FREE char *name = review_name(review, item);

	text_printable(name, strlen(name), shown, SHOWN_BYTES);
}

static bool is_beneath(const char *path, const char *word)
{
	size_t len = strlen(word);

	while (len && word[len - 1] == '/')
		len--;
	return !strncmp(path, word, len) &&
	       (path[len] == '\0' || path[len] == '/');
}

/* PATH is beneath the workspace, or whole; a folder means all in it. */
static bool is_meant(const struct review *review,
		     const struct review_item *item, const char *word)
{
	AUTO_FREE char *whole = xasprintf(
		"%s/%s", review->sandbox->record.shares.items[item->share].host,
		item->path);

	if (!strncmp(word, "./", 2))
		word += 2;
	if (*word == '/')
		return is_beneath(whole, word);
	return item->share == 0 &&
	       (!strcmp(word, ".") || is_beneath(item->path, word));
}

/* Without PATHs everything is. */
static bool is_chosen(const struct review *review,
		      const struct review_item *item,
		      const struct options *options)
{
	for (size_t i = 1; i < options->word_count; i++) {
		if (is_meant(review, item, options->words[i]))
			return true;
	}
	return options->word_count == 1;
}

static int check_words(const struct review *review,
		       const struct options *options, struct error *err)
{
	for (size_t i = 1; i < options->word_count; i++) {
		bool found = false;

		for (size_t j = 0; j < review->held_count && !found; j++)
			found = is_meant(review, &review->held[j],
					 options->words[i]);
		for (size_t j = 0; j < review->shown_count && !found; j++)
			found = is_meant(review, &review->shown[j],
					 options->words[i]);
		if (!found)
			return error_set(err, 0,
					 "%s: the guest has no version of its "
					 "own (bawn review %s lists them)",
					 options->words[i],
					 review->sandbox->record.name);
	}
	return 0;
}

static const char *kind_of(const struct review_item *item)
{
	if (S_ISLNK(item->st.st_mode))
		return "link";
	return S_ISDIR(item->st.st_mode) ? "folder" : "file";
}

static json_t *item_json(const struct review *review,
			 const struct review_item *item)
{
	char shown[SHOWN_BYTES];

	printable(review, item, shown);
	return json_pack("{s:s, s:s, s:s, s:b, s:I}", "path", shown, "change",
			 review_change_names[item->change], "type",
			 kind_of(item), "executable",
			 S_ISREG(item->st.st_mode) && (item->st.st_mode & 0111),
			 "size", (json_int_t)item->st.st_size);
}

static void show_json(const struct review *review,
		      const struct options *options)
{
	json_t *held = json_array(), *shown = json_array(), *all;
	char name[SHOWN_BYTES];

	for (size_t i = 0; i < review->held_count; i++) {
		if (is_chosen(review, &review->held[i], options))
			json_array_append_new(
				held, item_json(review, &review->held[i]));
	}
	for (size_t i = 0; i < review->shown_count; i++) {
		if (!is_chosen(review, &review->shown[i], options))
			continue;
		printable(review, &review->shown[i], name);
		json_array_append_new(shown, json_string(name));
	}
	all = json_pack("{s:o, s:o, s:b}", "held", held, "shown", shown,
			"incomplete", review->cut);
	print_json(all);
	json_decref(all);
}

static int show_diff(const struct review *review,
		     const struct review_item *item,
		     struct review_version *guest, struct error *err)
{
	AUTO_VERSION struct review_version host = REVIEW_VERSION_INIT;
	AUTO_BUFFER struct buffer text = BUFFER_INIT(DIFF_BYTES_MAX);

	if (review_read_guest(review, item, guest, err) < 0 ||
	    review_read_host(review, item, &host, err) < 0 ||
	    review_diff(review, item, &host, guest, &text, err) < 0)
		return -1;
	fwrite(text.data, 1, text.len, stdout);
	return 0;
}

static void show_item(const struct review *review,
		      const struct review_item *item)
{
	char shown[SHOWN_BYTES];
	const char *more = "";

	printable(review, item, shown);
	if (S_ISLNK(item->st.st_mode))
		more = " (link)";
	else if (S_ISREG(item->st.st_mode) && (item->st.st_mode & 0111))
		more = " (executable)";
	printf("  %-8s %s%s\n", review_change_names[item->change], shown, more);
}

static int show_held(const struct review *review, const struct options *options,
		     struct error *err)
{
	bool any = false, diff = options_flag(options, "diff");

	for (size_t i = 0; i < review->held_count; i++) {
		const struct review_item *item = &review->held[i];
		AUTO_VERSION struct review_version guest = REVIEW_VERSION_INIT;

		if (!is_chosen(review, item, options))
			continue;
		if (!any)
			printf("Held back, only the guest sees it so:\n");
		any = true;
		show_item(review, item);
		if (diff && show_diff(review, item, &guest, err) < 0)
			return -1;
	}
	return any;
}

static int show(const struct review *review, const struct options *options,
		struct error *err)
{
	int any = show_held(review, options, err);
	bool heading = false;
	char name[SHOWN_BYTES];

	if (any < 0)
		return -1;
	for (size_t i = 0; i < review->shown_count; i++) {
		if (!is_chosen(review, &review->shown[i], options))
			continue;
		if (!heading)
			printf("Changed by the guest, look before you run:\n");
		heading = true;
		printable(review, &review->shown[i], name);
		printf("  %s\n", name);
	}
	if (review->cut)
		printf("There is more than this.\n");
	if (!any && !heading)
		printf("Nothing is held back.\n");
	return 0;
}

/* Says that it is done, or asks whether it shall be. */
static bool agreed(const struct options *options, const char *verb,
		   const char *shown)
{
	AUTO_FREE char *question = NULL;

	if (options_flag(options, "force"))
		return true;
	question = xasprintf("%s %s?", verb, shown);
	return print_ask(question);
}

/* 1: what was held is held no longer; 0: the user did not want that. */
static int apply_one(const struct review *review,
		     const struct review_item *item,
		     const struct options *options, struct error *err)
{
	AUTO_VERSION struct review_version guest = REVIEW_VERSION_INIT;
	char shown[SHOWN_BYTES];

	printable(review, item, shown);
	show_item(review, item);
	if (show_diff(review, item, &guest, err) < 0)
		return -1;
	if (!agreed(options, "Write this to the host:", shown))
		return 0;
	if (review_apply(review, item, &guest, err) < 0)
		return error_prefix(err, "%s", shown);
	return review_drop(review, item, &guest, err) < 0 ? -1 : 1;
}

static int drop_one(const struct review *review, const struct review_item *item,
		    const struct options *options, struct error *err)
{
	char shown[SHOWN_BYTES];

	printable(review, item, shown);
	show_item(review, item);
	if (!agreed(options, "Forget the guest's version of", shown))
		return 0;
	return review_drop(review, item, NULL, err) < 0 ? -1 : 1;
}

/*
 * A guest that runs believes what it was told of these for minutes, most of all
 * that one of them is not there. One that does not run believes nothing.
 */
static void tell_guest(const struct sandbox *sandbox)
{
	launcher_ask(sandbox, json_pack("{s:s}", "op", "forget"), NULL);
}

static int change(const struct sandbox *sandbox, const struct review *review,
		  const struct options *options, struct error *err)
{
	bool apply = options_flag(options, "apply");

	if (!options_flag(options, "force") && (!isatty(0) || !isatty(2)))
		return error_set(err, 0,
				 "review %s: without a terminal it needs -f",
				 apply ? "--apply changes files on this host"
				       : "--drop forgets what the guest wrote");
	for (size_t i = 0; i < review->held_count; i++) {
		const struct review_item *item = &review->held[i];
		int done;

		if (!is_chosen(review, item, options))
			continue;
		done = (apply ? apply_one : drop_one)(review, item, options,
						      err);
		if (done < 0)
			return -1;
		/* Now: the next question may be the last one's end. */
		if (done)
			tell_guest(sandbox);
	}
	return 0;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_REVIEW struct review review = { 0 };
	bool apply = options_flag(options, "apply");
	bool drop = options_flag(options, "drop");

	if (apply && drop)
		return options_usage(err, "--apply or --drop, not both");
	if ((apply || drop) && options->word_count == 1)
		return options_usage(err, "say which PATH (. means all)");
	if (sandbox_open(options->words[0], &sandbox, err) < 0)
		return -1;
	if (review_load(&sandbox, &review, err) < 0 ||
	    check_words(&review, options, err) < 0)
		return -1;
	if (apply || drop)
		return change(&sandbox, &review, options, err);
	if (options_flag(options, "json")) {
		show_json(&review, options);
		return 0;
	}
	return show(&review, options, err);
}

static const struct option_row rows[] = {
	{ "diff", '\0', OPTION_FLAG, NULL,
	  "show what differs from the host's files", NULL, OPTION_HERE },
	{ "apply", '\0', OPTION_FLAG, NULL,
	  "write the guest's versions of PATHs to the host", NULL,
	  OPTION_HERE },
	{ "drop", '\0', OPTION_FLAG, NULL,
	  "forget the guest's versions of PATHs", NULL, OPTION_HERE },
	{ "force", 'f', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_review = {
	.name = "review",
	.arguments = "NAME [PATH...]",
	.help = "show and apply files that the guard holds back",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = run,
};
