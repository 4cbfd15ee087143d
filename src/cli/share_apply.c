/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_apply.c - a changed list of shares, for the running machine and the
 * next start
 */
#include "cli/share_apply.h"

#include <jansson.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/files_config.h"
#include "cli/launcher.h"
#include "cli/store.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* A full disk is found before the machine is changed, not after. */
static int change_running(const struct sandbox *sandbox, json_t *files,
			  struct error *err)
{
	if (files_config_prepare(sandbox, files, err) < 0)
		return -1;
	if (launcher_ask(
		    sandbox,
		    json_pack("{s:s, s:O}", "op", "shares", "files", files),
		    err) == 0)
		return files_config_commit(sandbox, err);
	files_config_cancel(sandbox);
	return -1;
}

int share_apply(const struct sandbox *sandbox, struct error *err)
{
	AUTO(json) json_t *running = NULL;
	AUTO(json) json_t *files = NULL;

	if (fileio_is_locked(sandbox->folder, STORE_ALIVE_FILE) == 1) {
		running = files_config_load(sandbox, err);
		if (!running)
			return -1;
		files = files_config_follow(&sandbox->record, running, err);
		if (!files || change_running(sandbox, files, err) < 0)
			return -1;
	}
	return sandbox_record_save(sandbox->folder, &sandbox->record, err);
}
