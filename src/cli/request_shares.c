/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_shares.c - what a request says about folders
 */
#include "cli/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hide_pattern.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/agent_settings.h"
#include "cli/git_folder.h"
#include "cli/options.h"
#include "cli/share_parse.h"
#include "cli/store.h"
#include "state/agents.h"
#include "tree/tree_open.h"

/* Allowed, for people do it; but what is in there is more than a project. */
static void warn_of_keys(const char *host)
{
	static const char *const holders[] = { "/.ssh", "/.gnupg", "/.aws",
					       "/.kube", "/.docker" };
	char shown[256];

	for (size_t i = 0; i < ARRAY_SIZE(holders); i++) {
		if (!text_ends(host, holders[i]))
			continue;
		text_printable(host, strlen(host), shown, sizeof(shown));
		fprintf(stderr,
			"bawn: the keys in %s are open to the sandbox "
			"(--ssh-agent and `bawn secret set` let it use some "
			"without having them)\n",
			shown);
	}
}

static int take(struct request *request, const char *text, enum share_form form,
		struct error *err)
{
	struct share_record share;
	int result;

	if (share_parse(text, form, &share, err) < 0)
		return -1;
	result = share_check(&request->shares, &share,
			     request->force ? SHARE_FORCED : SHARE_AS_USUAL,
			     err);
	if (result == 0) {
		warn_of_keys(share.host);
		share_list_add(&request->shares, &share);
	}
	share_release(&share);
	return result;
}

int request_take_path(struct request *request, const char *word,
		      struct error *err)
{
	request->shares_given = true;
	return take(request, word, SHARE_FORM_PATH, err);
}

static int take_volumes(const struct options *options, struct request *request,
			struct error *err)
{
	const char *value;
	size_t at = 0;

	while ((value = options_next(options, "volume", &at))) {
		request->shares_given = true;
		if (take(request, value, SHARE_FORM_VOLUME, err) < 0)
			return error_prefix(err, "-v");
	}
	return 0;
}

/* What a link leads to was not named. */
static int check_setting(const char *home, const struct agent_setting *one,
			 struct error *err)
{
	AUTO_CLOSE int top = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd =
		top < 0 ? -1 : tree_open(top, one->path, O_PATH | O_CLOEXEC);

	return fd < 0 ? tree_error(err, errno, one->path) : 0;
}

/* Those that are copied are no shares: agent_settings_copy(). */
static int take_settings(const struct options *options, struct request *request,
			 struct error *err)
{
	const json_t *agent =
		agents_find(request->agents, request_agent(request));
	const char *words, *home = getenv("HOME");
	size_t at = 0;
	int got = 0;

	while (got >= 0 && (words = options_next(options, "settings", &at))) {
		struct agent_setting one;

		while ((got = agent_settings_next(agent, &words, &one, err)) >
		       0) {
			AUTO_FREE char *text =
				xasprintf("%s/%s:" AGENT_SETTINGS_HOME "/%s:ro",
					  home ? home : "", one.path, one.path);

			if (!one.read_only)
				continue;
			request->shares_given = true;
			if (check_setting(home ? home : "", &one, err) < 0 ||
			    take(request, text, SHARE_FORM_VOLUME, err) < 0)
				return error_prefix(err, "--settings %s",
						    one.name);
		}
	}
	return got < 0 ? -1 : 0;
}

static int take_mode(const struct options *options, struct request *request,
		     struct error *err)
{
	const char *mode = options_value(options, "workspace-mode");
	bool clone = options_flag(options, "clone");

	if (mode && strcmp(mode, "direct") && strcmp(mode, "overlay") &&
	    strcmp(mode, "clone"))
		return options_usage(err,
				     "--workspace-mode %s: direct, overlay or "
				     "clone",
				     mode);
	if (clone && mode && strcmp(mode, "clone"))
		return options_usage(err,
				     "--clone and --workspace-mode %s: give "
				     "one",
				     mode);
	request->mode = clone ? "clone" : mode;
	request->with_changes = options_flag(options, "with-changes");
	if (request->with_changes &&
	    (!request->mode || strcmp(request->mode, "clone")))
		return options_usage(err, "--with-changes goes with --clone");
	return 0;
}

static int take_hide(const struct options *options, struct request *request,
		     struct error *err)
{
	struct hide_list list = { 0 };
	const char *value;
	size_t at = 0, n = 0;
	int result = 0;

	while (result == 0 && (value = options_next(options, "hide", &at))) {
		result = hide_list_add(&list, value);
		if (result < 0 || !value[0])
			result = options_usage(err,
					       "--hide %.80s: too long, too "
					       "deep or empty",
					       value);
		request->hide =
			xrealloc(request->hide, (n + 2) * sizeof(char *));
		request->hide[n++] = xstrdup(value);
		request->hide[n] = NULL;
	}
	hide_list_release(&list);
	return result;
}

/* SIZE or SIZE,INODES */
static int take_quota(const struct options *options, struct request *request,
		      struct error *err)
{
	const char *text = options_value(options, "quota");
	const char *comma = text ? strchr(text, ',') : NULL;
	AUTO_FREE char *size = NULL;

	if (!text)
		return 0;
	size = comma ? xstrndup(text, (size_t)(comma - text)) : xstrdup(text);
	if (text_to_size(size, &request->quota_bytes) < 0 ||
	    request->quota_bytes > INT64_MAX ||
	    (comma &&
	     text_to_u64(comma + 1, 0, INT64_MAX, &request->quota_inodes) < 0))
		return options_usage(err,
				     "--quota %s: not a size (such as 2G), or "
				     "a size and a number of files (2G,50000)",
				     text);
	request->quota_given = true;
	return 0;
}

/* What git needs of a workspace whose repository lies elsewhere. */
static void add_git_folder(struct request *request)
{
	const struct share_record *workspace = &request->shares.items[0];
	struct share_record git;

	if (git_folder_of(workspace, &git) < 0)
		return;
	/* one that must not be shared is left out: git says so inside */
	for (size_t i = 0; i < request->shares.count; i++)
		if (share_path_within(git.host, request->shares.items[i].host))
			goto out;
	if (share_check(&request->shares, &git, SHARE_AS_USUAL, NULL) == 0)
		share_list_add(&request->shares, &git);
out:
	share_release(&git);
}

int request_take_shares(const struct options *options, bool needs_workspace,
			struct request *request, struct error *err)
{
	/* without a PATH the current folder is the workspace, also with -v */
	if (!request->shares.count && needs_workspace &&
	    take(request, ".", SHARE_FORM_PATH, err) < 0)
		return -1;
	if (take_volumes(options, request, err) < 0 ||
	    take_settings(options, request, err) < 0 ||
	    take_mode(options, request, err) < 0 ||
	    take_hide(options, request, err) < 0 ||
	    take_quota(options, request, err) < 0)
		return -1;
	/* a clone has the folder at a place of its own */
	if (request->shares.count && needs_workspace &&
	    (!request->mode || strcmp(request->mode, "clone")))
		add_git_folder(request);
	return 0;
}

static const struct share_record *next_asked(const struct share_list *list,
					     size_t *at)
{
	while (*at < list->count && list->items[*at].added)
		++*at;
	return *at < list->count ? &list->items[(*at)++] : NULL;
}

static void show(const struct share_record *share, char *dst, size_t size)
{
	char host[128], guest[128];

	if (!share) {
		text_copy(dst, size, "(none)");
		return;
	}
	text_printable(share->host, strlen(share->host), host, sizeof(host));
	text_printable(share->guest, strlen(share->guest), guest,
		       sizeof(guest));
	if (strcmp(share->host, share->guest))
		text_format(dst, size, "%s:%s%s", host, guest,
			    share->read_only ? ":ro" : "");
	else
		text_format(dst, size, "%s%s", host,
			    share->read_only ? ":ro" : "");
}

/* The workspace is the same one, whatever link led to it. */
static bool same(const struct share_record *has,
		 const struct share_record *asked, bool workspace)
{
	return !strcmp(has->host, asked->host) &&
	       has->read_only == asked->read_only &&
	       (workspace || !strcmp(has->guest, asked->guest));
}

static int compare_folders(const struct request *request,
			   const struct sandbox *sandbox, struct error *err)
{
	size_t i = 0, j = 0;
	char a[272], b[272];

	for (;;) {
		const struct share_record *has =
			next_asked(&sandbox->record.shares, &i);
		const struct share_record *asked =
			next_asked(&request->shares, &j);

		if (!has && !asked)
			return 0;
		if (has && asked && same(has, asked, i == 1))
			continue;
		show(has, a, sizeof(a));
		show(asked, b, sizeof(b));
		return request_differs(sandbox, "folder", a, b, err);
	}
}

static char *joined(char *const *list)
{
	char *text = xstrdup(list && *list ? *list : "(none)");

	for (; list && *list && list[1]; list++) {
		char *longer = xasprintf("%s %s", text, list[1]);

		free(text);
		text = longer;
	}
	return text;
}

static int compare_hide(const struct request *request,
			const struct sandbox *sandbox, struct error *err)
{
	AUTO_FREE char *has = joined(sandbox->record.hide);
	AUTO_FREE char *asked = joined(request->hide);
	char a[160], b[160];

	if (!strcmp(has, asked))
		return 0;
	text_printable(has, strlen(has), a, sizeof(a));
	text_printable(asked, strlen(asked), b, sizeof(b));
	return request_differs(sandbox, "hidden paths", a, b, err);
}

static int compare_quota(const struct request *request,
			 const struct sandbox *sandbox, struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	char has[64], asked[64];

	if (request->quota_bytes == record->quota_bytes &&
	    request->quota_inodes == record->quota_inodes)
		return 0;
	text_format(has, sizeof(has), "%llu,%llu",
		    (unsigned long long)record->quota_bytes,
		    (unsigned long long)record->quota_inodes);
	text_format(asked, sizeof(asked), "%llu,%llu",
		    (unsigned long long)request->quota_bytes,
		    (unsigned long long)request->quota_inodes);
	return request_differs(sandbox, "quota", has, asked, err);
}

int request_compare_shares(const struct request *request,
			   const struct sandbox *sandbox, struct error *err)
{
	const char *mode = sandbox->record.mode;

	if (request->shares_given && compare_folders(request, sandbox, err) < 0)
		return -1;
	if (request->mode && strcmp(request->mode, mode))
		return request_differs(sandbox, "workspace mode", mode,
				       request->mode, err);
	if (request->with_changes)
		return error_set(err, 0,
				 "sandbox %s is there already, and "
				 "--with-changes is for a new one (give it "
				 "another --name, or remove it with `bawn rm`)",
				 sandbox->record.name);
	if (request->hide && compare_hide(request, sandbox, err) < 0)
		return -1;
	if (request->quota_given && compare_quota(request, sandbox, err) < 0)
		return -1;
	return 0;
}
