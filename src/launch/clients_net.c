/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients_net.c - requests of the CLI about the network
 */
#include "launch/clients_internal.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/control.h"
#include "launch/keeper_net.h"
#include "launch/net_settings.h"

AUTO_DEFINE(json, json_t *, json_decref)

static json_t *with_ports(const struct client *client)
{
	json_t *ok = control_ok();

	json_object_set_new(
		ok, "ports",
		published_for_client(&client->clients->net->published));
	return ok;
}

static json_t *with_asks(const struct client *client)
{
	json_t *ok = control_ok();

	json_object_set_new(ok, "asks",
			    asks_json(&client->clients->net->questions.asks));
	return ok;
}

void client_net_changed(struct client *client)
{
	const struct keeper_net *net = client->clients->net;
	const struct keeper *keeper = &net->keeper;

	if (keeper->life == KEEPER_GIVEN_UP)
		client_refuse(client, EIO, keeper->why);
	else if (!keeper_net_settled(net))
		return;
	else if (keeper->refused[0])
		client_refuse(client, EINVAL, keeper->refused);
	else
		client_answer(client, client->waits_for == WAITS_FOR_PORTS
					      ? with_ports(client)
					      : control_ok());
}

/* Takes the reference of given; err says what is wrong with it. */
static void change(struct client *client, enum waits_for what, json_t *given)
{
	struct clients *clients = client->clients;
	AUTO(json) json_t *owned = given;
	struct error err = { 0 };
	json_t *settings;

	if (clients_busy(clients, WAITS_FOR_NET) ||
	    clients_busy(clients, WAITS_FOR_PORTS)) {
		client_refuse(client, EBUSY,
			      "another command changes the network");
		return;
	}
	settings =
		net_settings_check(owned, clients->net->keeper.settings, &err);
	if (!settings) {
		client_refuse(client, EINVAL, err.text);
		return;
	}
	client_wait(client, what);
	if (keeper_net_change(clients->net, settings, &err) < 0)
		client_refuse(client, err.code, err.text);
}

void client_net(struct client *client, json_t *json)
{
	json_t *given;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:o, s:o}", "op", &given,
			   "net", &given) < 0 ||
	    !json_is_object(given))
		client_refuse(client, EINVAL, "net: the settings");
	else
		change(client, WAITS_FOR_NET, json_incref(given));
}

void client_ports(struct client *client, json_t *json)
{
	const json_t *settings = client->clients->net->keeper.settings;
	json_t *published = json_object_get(json, "published");
	json_t *given;

	if (!published) {
		client_answer(client, with_ports(client));
		return;
	}
	if (!settings) {
		client_refuse(client, ESRCH, "there is no network");
		return;
	}
	given = json_copy((json_t *)settings);
	json_object_set(given, "published", published);
	change(client, WAITS_FOR_PORTS, given);
}

void client_asks(struct client *client, json_t *json)
{
	client_answer(client, with_asks(client));
}

void client_ask_answer(struct client *client, json_t *json)
{
	struct questions *questions = &client->clients->net->questions;
	enum ask_verdict verdict;
	struct error err = { 0 };
	const char *op, *word;
	json_int_t id;
	json_t *ok;
	int result;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:I, s:s}", "op",
			   &op, "id", &id, "verdict", &word) < 0 ||
	    id < 1 || id > UINT32_MAX ||
	    ask_verdict_parse(word, strlen(word), &verdict) < 0) {
		client_refuse(client, EINVAL,
			      "ask-answer: a number, and once, always, never "
			      "or deny");
		return;
	}
	result = questions_answer(questions, (uint32_t)id, verdict,
				  client->rule, &err);
	if (result < 0) {
		client_refuse(client, err.code, err.text);
	} else if (result > 0) {
		client_wait(client, WAITS_FOR_RULE);
	} else {
		ok = control_ok();
		json_object_set_new(ok, "rule", json_null());
		client_answer(client, ok);
	}
}

void client_watch_asks(struct client *client, json_t *json)
{
	client->waits_for = WAITS_FOR_ASKS;
	client_send(client, with_asks(client));
}

void clients_rule_written(struct clients *clients, const char *line,
			  const char *why)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = clients->list[i];
		json_t *ok;

		if (!client || client->waits_for != WAITS_FOR_RULE ||
		    strcmp(client->rule, line) != 0)
			continue;
		if (why) {
			client_refuse(client, EIO, why);
			continue;
		}
		ok = control_ok();
		json_object_set_new(ok, "rule", json_string(line));
		client_answer(client, ok);
	}
}

/* Takes the reference. */
static void tell_watchers(struct clients *clients, json_t *json)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = clients->list[i];

		if (client && client->waits_for == WAITS_FOR_ASKS)
			client_send(client, json_incref(json));
	}
	json_decref(json);
}

void clients_asked(struct clients *clients, const struct ask *ask)
{
	tell_watchers(clients, json_pack("{s:o}", "ask", ask_json(ask)));
}

void clients_ask_over(struct clients *clients, uint32_t id)
{
	tell_watchers(clients, json_pack("{s:I}", "over", (json_int_t)id));
}
