/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.c - one request to the launcher of a running sandbox
 */
#include "cli/launcher.h"

#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "cli/store.h"
#include "ipc/control.h"

/* One that is ending drops who asks it, and is gone soon after. */
#define ENDING_TRIES 500
#define ENDING_NAP_NS 10000000L

static json_t *call_once(const struct sandbox *sandbox, json_t *request,
			 struct error *err)
{
	struct control_client client;
	int fd = control_connect_to(sandbox->folder, CONTROL_LAUNCH_SOCKET_NAME,
				    err);
	json_t *answer;

	if (fd < 0)
		return NULL;
	control_client_init(&client, fd);
	answer = control_call(&client, json_incref(request), err);
	control_client_release(&client);
	return answer;
}

json_t *launcher_call(const struct sandbox *sandbox, json_t *request,
		      struct error *err)
{
	const struct timespec nap = { .tv_nsec = ENDING_NAP_NS };
	struct error failure = { 0 };
	json_t *answer = NULL;

	for (int i = 0; i < ENDING_TRIES; i++) {
		answer = call_once(sandbox, request, &failure);
		if (answer ||
		    (failure.code != ECONNRESET && failure.code != EPIPE))
			break;
		nanosleep(&nap, NULL);
	}
	json_decref(request);
	if (!answer && err)
		*err = failure;
	return answer;
}

int launcher_ask(const struct sandbox *sandbox, json_t *request,
		 struct error *err)
{
	json_t *answer = launcher_call(sandbox, request, err);

	json_decref(answer);
	return answer ? 0 : -1;
}
