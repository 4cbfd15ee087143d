/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.c - one request to the launcher of a running sandbox
 */
#include "cli/launcher.h"

#include "cli/store.h"
#include "ipc/control.h"

json_t *launcher_call(const struct sandbox *sandbox, json_t *request,
		      struct error *err)
{
	struct control_client client;
	int fd = control_connect_to(sandbox->folder, CONTROL_LAUNCH_SOCKET_NAME,
				    err);
	json_t *answer;

	if (fd < 0) {
		json_decref(request);
		return NULL;
	}
	control_client_init(&client, fd);
	answer = control_call(&client, request, err);
	control_client_release(&client);
	return answer;
}

int launcher_ask(const struct sandbox *sandbox, json_t *request,
		 struct error *err)
{
	json_t *answer = launcher_call(sandbox, request, err);

	json_decref(answer);
	return answer ? 0 : -1;
}
