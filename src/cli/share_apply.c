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
#include "cli/store.h"
#include "ipc/control.h"

AUTO_DEFINE(json, json_t *, json_decref)

static int tell_launcher(const struct sandbox *sandbox, json_t *files,
			 struct error *err)
{
	struct control_client client;
	int fd = control_connect_to(sandbox->folder, CONTROL_LAUNCH_SOCKET_NAME,
				    err);
	json_t *answer;

	if (fd < 0)
		return -1;
	control_client_init(&client, fd);
	answer = control_call(
		&client,
		json_pack("{s:s, s:O}", "op", "shares", "files", files), err);
	control_client_release(&client);
	json_decref(answer);
	return answer ? 0 : -1;
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
		if (!files || tell_launcher(sandbox, files, err) < 0 ||
		    files_config_save(sandbox, files, err) < 0)
			return -1;
	}
	return sandbox_record_save(sandbox->folder, &sandbox->record, err);
}
