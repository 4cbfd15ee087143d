/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients_keys.c - requests of the CLI about secrets
 */
#include "launch/clients_internal.h"

#include <errno.h>

#include "base/error.h"
#include "ipc/control.h"
#include "launch/keeper_keys.h"

void client_keys_changed(struct client *client)
{
	const struct keeper_keys *keys = client->clients->keys;
	json_t *ok;

	if (keys->keeper.life == KEEPER_GIVEN_UP) {
		client_refuse(client, EIO, keys->keeper.why);
	} else if (!keeper_keys_settled(keys)) {
		return;
	} else if (keys->why[0]) {
		client_refuse(client, EINVAL, keys->why);
	} else {
		ok = control_ok();
		json_object_set(ok, "bound", client->bound);
		client_answer(client, ok);
	}
}

void client_keys(struct client *client, json_t *json)
{
	struct keeper_keys *keys = client->clients->keys;
	json_t *session = json_object_get(json, "session");
	struct error err = { 0 };

	if (session && !json_is_array(session)) {
		client_refuse(client, EINVAL, "keys: a session's");
		return;
	}
	client->bound = json_array();
	client_wait(client, WAITS_FOR_KEYS);
	if (keeper_keys_reload(keys, session, client->bound, &err) < 0)
		client_refuse(client, err.code, err.text);
}
