/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_change.c - change the rules of a sandbox, or of all
 */
#include "cli/policy_change.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/launcher.h"
#include "cli/net_config.h"
#include "cli/policy_place.h"
#include "cli/policy_set.h"
#include "cli/proxy_file.h"
#include "cli/spelling.h"
#include "state/paths.h"

/* One that does not run has nobody to tell. */
static int tell(const struct sandbox *sandbox, struct error *err)
{
	struct error failure = { 0 };
	json_t *net = net_config_make(sandbox, err);

	if (!net)
		return -1;
	if (launcher_ask(sandbox,
			 json_pack("{s:s, s:o}", "op", "net", "net", net),
			 &failure) == 0 ||
	    failure.code == ENOENT || failure.code == ECONNREFUSED)
		return 0;
	return error_set(err, 0,
			 "written, but sandbox %s goes on with the old rules: "
			 "%s",
			 sandbox->record.name, failure.text);
}

static int follow(const struct sandbox *sandbox, struct error *err)
{
	enum proxy_file_when when = spelling_now() == SPELLING_DOCKER
					    ? PROXY_FILE_MAKE
					    : PROXY_FILE_KEEP;

	if (tell(sandbox, err) < 0)
		return -1;
	return proxy_file_update(sandbox, when, err);
}

/* Every sandbox; the first failure is told, and the others still follow. */
static int follow_all(struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	int result = 0;

	if (store_open(&store, err) < 0)
		return -1;
	for (size_t i = 0; i < store.count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
		AUTO_CLOSE int lock = -1;
		struct error failure = { 0 };

		if (store_find(&store, store.names[i], &sandbox, NULL) < 0)
			continue;
		/* so that what was read last is also sent last */
		lock = fileio_lock(sandbox.folder, POLICY_SET_LOCK,
				   FILEIO_LOCK_WAIT, &failure);
		if (lock >= 0 && follow(&sandbox, &failure) == 0)
			continue;
		if (result == 0 && err)
			*err = failure;
		result = -1;
	}
	return result;
}

static int check(const struct policy_place *place, const struct buffer *text,
		 struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	struct policy *policy;

	if (policy_set_load(place->global ? NULL : &place->sandbox, &set, err) <
		    0 ||
	    policy_set_replace(&set,
			       place->global ? POLICY_GLOBAL : POLICY_SANDBOX,
			       text->len ? (const char *)text->data : "",
			       text->len, err) < 0)
		return -1;
	policy = policy_set_compile(&set, err);
	policy_free(policy);
	return policy ? 0 : -1;
}

static int edit_file(const struct policy_place *place, int folder,
		     policy_edit_fn *edit, void *ctx, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(POLICY_SET_TEXT_MAX);
	struct error missing = { 0 };
	int changed;

	if (fileio_read(folder, POLICY_SET_FILE, &text, &missing) < 0 &&
	    missing.code != ENOENT)
		return error_set(err, missing.code, POLICY_SET_FILE);
	changed = edit(ctx, &text, err);
	if (changed <= 0)
		return changed;
	if (check(place, &text, err) < 0 ||
	    fileio_replace(folder, POLICY_SET_FILE, text.data, text.len, 0600,
			   FILEIO_SYNC, err) < 0)
		return -1;
	return changed;
}

int policy_change(const struct policy_place *place, policy_edit_fn *edit,
		  void *ctx, struct error *err)
{
	AUTO_CLOSE int config = -1;
	AUTO_CLOSE int lock = -1;
	int folder = place->sandbox.folder, changed;

	if (place->global) {
		config = paths_open(PATHS_CONFIG, NULL, err);
		if (config < 0)
			return -1;
		folder = config;
	}
	lock = fileio_lock(folder, POLICY_SET_LOCK, FILEIO_LOCK_WAIT, err);
	if (lock < 0)
		return -1;
	changed = edit_file(place, folder, edit, ctx, err);
	if (changed < 0)
		return -1;
	/* also when nothing changed: somebody may have edited by hand */
	if ((place->global ? follow_all(err) : follow(&place->sandbox, err)) <
	    0)
		return -1;
	return changed;
}
