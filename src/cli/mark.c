/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - marks in what a running sandbox changes, for `bawn undo`
 */
#include "cli/mark.h"

#include <jansson.h>
#include <time.h>

#include "base/error.h"
#include "cli/store.h"
#include "ipc/control.h"
#include "undo/segment.h"

int mark_set(const struct sandbox *sandbox, const char *label,
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
		&client, json_pack("{s:s, s:s}", "op", "mark", "label", label),
		err);
	control_client_release(&client);
	json_decref(answer);
	return answer ? 0 : -1;
}

int mark_set_now(const struct sandbox *sandbox, const char *prefix,
		 struct error *err)
{
	char label[JOURNAL_LABEL_MAX + 1];

	segment_time_label(prefix, time(NULL), label, sizeof(label));
	return mark_set(sandbox, label, err);
}
