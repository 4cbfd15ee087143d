/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_config.c - what bawn-files is told about a sandbox's folders
 */
#include "cli/files_config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/clone_source.h"
#include "cli/git_trusts.h"
#include "cli/git_worktrees.h"
#include "cli/held_links.h"
#include "cli/hidden.h"
#include "cli/hidden_links.h"
#include "cli/share_parse.h"
#include "cli/store.h"
#include "state/guard_file.h"
#include "state/paths.h"

#define FILES_FILE "files.json"
#define FILES_NEXT "files.json.next"
#define FILES_MAX (4U << 20)
#define AGENT_UID 1000
#define AGENT_GID 1000

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(folders, char **, share_own_folders_free)

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* hide is taken over. */
static json_t *pack(const struct sandbox_record *record, const char *host,
		    const char *guest, bool read_only, bool overlay,
		    json_t *hide)
{
	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:I, s:I, s:o}", "path",
			 host, "guest_path", guest, "read_only", read_only,
			 "overlay", overlay, "gone", false, "quota_bytes",
			 (json_int_t)record->quota_bytes, "quota_inodes",
			 (json_int_t)record->quota_inodes, "hide", hide);
}

/* bawn-files leaves it out; of the workspace the start says more. */
static void tell_absent(const struct sandbox_record *record, size_t at)
{
	const char *path = record->shares.items[at].host;
	char shown[256];

	if (!at || access(path, F_OK) == 0 || errno != ENOENT)
		return;
	text_printable(path, strlen(path), shown, sizeof(shown));
	log_warn("%s: not there any more, so not in the sandbox either (bawn "
		 "umount %s %s forgets it)",
		 shown, record->name, shown);
}

static json_t *share_json(const struct sandbox_record *record, size_t at,
			  struct error *err)
{
	const struct share_record *share = &record->shares.items[at];
	json_t *hide = hidden_of(record, at, err);
	bool direct = !strcmp(record->mode, "direct");
	bool overlay = !strcmp(record->mode, "overlay") && !share->read_only &&
		       is_folder(share->host);

	if (!hide)
		return NULL;
	tell_absent(record, at);
	/* only direct mode lets a guest write to the host */
	return pack(record, share->host, share->guest,
		    share->read_only || !direct, overlay, hide);
}

/* Clone mode: the repository, in which patterns for paths mean nothing. */
static json_t *origin_json(const struct sandbox_record *record,
			   struct error *err)
{
	AUTO_CLONE_SOURCE struct clone_source source = { 0 };

	if (clone_source_of(&record->shares.items[0], &source, err) < 0)
		return NULL;
	return pack(record, source.host, CLONE_ORIGIN, true, false,
		    json_array());
}

/* The work tree, until what was not committed has been carried in. */
static json_t *changes_json(const struct sandbox_record *record,
			    struct error *err)
{
	json_t *hide = hidden_of(record, 0, err);

	return hide ? pack(record, record->shares.items[0].host, CLONE_CHANGES,
			   true, false, hide)
		    : NULL;
}

/* One that a share holds is made: a guest could make it first otherwise. */
static void make_own_folders(const struct share_list *shares)
{
	for (unsigned kind = 0; kind < PATHS_KINDS; kind++) {
		AUTO_FREE char *path =
			paths_of((enum paths_kind)kind, NULL, NULL);
		bool held = false;

		for (size_t i = 0; path && i < shares->count; i++)
			held |= share_path_within(path, shares->items[i].host);
		if (held && kind != PATHS_SYSTEM)
			close(paths_open((enum paths_kind)kind, NULL, NULL));
	}
}

static json_t *absent_json(const struct share_list *shares)
{
	AUTO(folders) char **folders = NULL;
	json_t *absent = json_array();

	make_own_folders(shares);
	folders = share_own_folders();
	for (char **folder = folders; *folder; folder++)
		json_array_append_new(absent, json_string(*folder));
	return absent;
}

static json_t *texts_json(char **texts, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_string(texts[i]));
	return array;
}

static void held_add(const struct share_list *shares, json_t *guard)
{
	json_t *held = json_object_get(guard, "held"), *frozen = json_array();

	git_trusts_add(shares, held);
	held_links_add(shares, held, frozen);
	git_worktrees_add(shares, held);
	json_object_set_new(guard, "frozen", frozen);
}

/* What the guest must not plant, where it writes to the host at all. */
static json_t *guard_json(const struct sandbox_record *record,
			  struct error *err)
{
	struct guard_file file;
	json_t *guard;

	if (strcmp(record->mode, "direct"))
		return json_null();
	if (guard_file_load(&file, err) < 0)
		return NULL;
	guard = json_pack("{s:o, s:o}", "held",
			  texts_json(file.held, file.held_count), "shown",
			  texts_json(file.shown, file.shown_count));
	guard_file_release(&file);
	if (!guard)
		error_set(err, EILSEQ, "guard");
	else
		held_add(&record->shares, guard);
	return guard;
}

static json_t *wrap(const struct sandbox_record *record, json_t *shares,
		    struct error *err)
{
	/* both are for direct mode: else nothing is written to the host */
	json_t *guard = guard_json(record, err), *absent, *unseen;

	if (!guard) {
		json_decref(shares);
		return NULL;
	}
	absent = absent_json(&record->shares);
	unseen = hidden_links_of(shares, absent);
	return json_pack("{s:o, s:o, s:o, s:i, s:i, s:o, s:b}", "shares",
			 shares, "absent", absent, "unseen", unseen,
			 "guest_uid", AGENT_UID, "guest_gid", AGENT_GID,
			 "guard", guard, "undo", !json_is_null(guard));
}

static json_t *make_shares(const struct sandbox_record *record,
			   struct error *err)
{
	AUTO(json) json_t *shares = json_array();

	for (size_t i = 0; i < record->shares.count; i++) {
		json_t *share = i == 0 && clone_mode(record)
					? origin_json(record, err)
					: share_json(record, i, err);

		if (!share)
			return NULL;
		json_array_append_new(shares, share);
	}
	if (record->with_changes) {
		json_t *share = changes_json(record, err);

		if (!share)
			return NULL;
		json_array_append_new(shares, share);
	}
	return TAKE_PTR(shares);
}

json_t *files_config_make(const struct sandbox_record *record,
			  struct error *err)
{
	json_t *shares = make_shares(record, err);

	return shares ? wrap(record, shares, err) : NULL;
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	const json_t *one = json_object_get(a, key);
	const json_t *other = json_object_get(b, key);

	return one && other && json_equal(one, other);
}

/*
 * One that the guest wrote to directly, and now keeps its changes apart: it has
 * the same nodes, and gets an overlay over it.
 */
static bool becomes_overlay(const json_t *share, const json_t *running)
{
	return json_is_true(json_object_get(share, "overlay")) &&
	       json_is_false(json_object_get(running, "overlay")) &&
	       json_is_false(json_object_get(running, "read_only"));
}

/* Takes the share that is the same one out of the list; NULL: none is. */
static json_t *take_same(json_t *shares, const json_t *running)
{
	json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		if (!same_text(share, running, "path") ||
		    !same_text(share, running, "guest_path") ||
		    (!same_text(share, running, "read_only") &&
		     !becomes_overlay(share, running)))
			continue;
		json_incref(share);
		json_array_remove(shares, i);
		return share;
	}
	return NULL;
}

json_t *files_config_follow(const struct sandbox_record *record,
			    const json_t *running, struct error *err)
{
	AUTO(json) json_t *fresh = make_shares(record, err);
	AUTO(json) json_t *shares = json_array();
	json_t *old;
	size_t i;

	if (!fresh)
		return NULL;
	json_array_foreach(json_object_get(running, "shares"), i, old)
	{
		json_t *same = NULL;

		if (!json_is_true(json_object_get(old, "gone")))
			same = take_same(fresh, old);
		if (!same) {
			same = json_copy(old);
			json_object_set_new(same, "gone", json_true());
		}
		json_array_append_new(shares, same);
	}
	json_array_extend(shares, fresh);
	if (json_array_size(shares) > SHARE_LIST_MAX) {
		error_set(err, 0,
			  "more than %d folders since it was started (stop it "
			  "and start it again)",
			  SHARE_LIST_MAX);
		return NULL;
	}
	return wrap(record, TAKE_PTR(shares), err);
}

json_t *files_config_load(const struct sandbox *sandbox, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILES_MAX);
	json_t *files;

	if (fileio_read(sandbox->folder, FILES_FILE, &text, err) < 0)
		return NULL;
	files = json_loadb((const char *)text.data, text.len,
			   JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_array(json_object_get(files, "shares"))) {
		json_decref(files);
		error_set(err, 0, FILES_FILE ": damaged");
		return NULL;
	}
	return files;
}

static int write_list(const struct sandbox *sandbox, const char *name,
		      const json_t *files, struct error *err)
{
	AUTO_FREE char *text = json_dumps(files, JSON_COMPACT);

	if (!text)
		return error_set(err, EILSEQ, FILES_FILE);
	return fileio_replace(sandbox->folder, name, text, strlen(text), 0600,
			      0, err);
}

int files_config_save(const struct sandbox *sandbox, const json_t *files,
		      struct error *err)
{
	return write_list(sandbox, FILES_FILE, files, err);
}

int files_config_prepare(const struct sandbox *sandbox, const json_t *files,
			 struct error *err)
{
	return write_list(sandbox, FILES_NEXT, files, err);
}

int files_config_commit(const struct sandbox *sandbox, struct error *err)
{
	if (renameat(sandbox->folder, FILES_NEXT, sandbox->folder, FILES_FILE) <
	    0)
		return error_set(err, errno, FILES_FILE);
	return 0;
}

void files_config_cancel(const struct sandbox *sandbox)
{
	unlinkat(sandbox->folder, FILES_NEXT, 0);
}
