/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c - secrets as bawn-keys tells them
 */
#include "net/keys.h"

#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/secret.h"
#include "ipc/packet.h"
#include "net/bindings.h"
#include "net/gate.h"
#include "net/logins.h"
#include "net/renew.h"

#define PACKETS_PER_EVENT 4
/* A command of the user's may ask them something. */
#define FIRST_MS 10000
/* It writes and syncs a small file. */
#define TOKENS_MS 3000

static void answer(struct keys *keys, const struct error *why)
{
	json_t *json = json_pack("{s:s}", "op", "taken");
	struct error err = { 0 };

	if (why)
		json_object_set_new(json, "error", json_string(why->text));
	if (packet_send(keys->source.fd, json, NULL, 0, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "bawn-keys does not read: %s",
			    err.text);
}

enum moment {
	AT_ONCE,
	LATER, /* a request is under way that must not be looked at now */
};

static void use(struct keys *keys, struct bindings *list, enum moment moment)
{
	struct bindings *old = keys->gate->bindings;

	if (moment == AT_ONCE) {
		gate_use_bindings(keys->gate, list);
		return;
	}
	keys->gate->bindings = list;
	bindings_unref(old);
	timer_start(keys->gate->loop, &keys->recheck, 0);
}

static void on_recheck(struct timer *timer)
{
	struct keys *keys = CONTAINER_OF(timer, struct keys, recheck);

	gate_use_bindings(keys->gate, bindings_ref(keys->gate->bindings));
}

static void take_packet(struct keys *keys, struct packet *packet,
			enum moment moment)
{
	AUTO_CLOSE int fd = packet_take_fd(packet, 0);
	struct error err = { 0 };
	struct bindings *list;

	if (strcmp(packet_op(packet), "renew") == 0) {
		const char *service = json_string_value(
			json_object_get(packet->json, "service"));

		if (service)
			renew_granted(&keys->gate->renewals, service);
		return;
	}
	if (fd < 0 || strcmp(packet_op(packet), "secrets") != 0) {
		log_limited(LOG_LEVEL_WARN, "bawn-keys: unknown packet");
		return;
	}
	list = bindings_read(fd, &err);
	if (!list) {
		/* What is in force may be what was to be taken back. */
		log_error("%s", err.text);
		use(keys, NULL, moment);
		answer(keys, &err);
		return;
	}
	use(keys, list, moment);
	answer(keys, NULL);
}

/* False: there is nothing more now. */
static bool receive(struct keys *keys, enum moment moment)
{
	struct error err = { 0 };
	struct packet packet;
	int got = packet_receive(keys->source.fd, &packet, &err);

	if (got < 0) {
		log_warn("no more secrets come: %s", err.text);
		loop_del(&keys->source);
		return false;
	}
	if (got == 0)
		return false;
	take_packet(keys, &packet, moment);
	packet_release(&packet);
	return true;
}

static void on_event(struct source *source, uint32_t events)
{
	struct keys *keys = CONTAINER_OF(source, struct keys, source);

	for (int i = 0; i < PACKETS_PER_EVENT && receive(keys, AT_ONCE); i++)
		;
}

int keys_init(struct keys *keys, struct gate *gate, int fd, struct error *err)
{
	*keys = (struct keys){ .gate = gate };
	keys->source = (struct source){ .name = "bawn-keys",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = on_event };
	keys->recheck =
		(struct timer){ .name = "new secrets", .on_fire = on_recheck };
	return fd < 0 ? 0 : loop_add(gate->loop, &keys->source, err);
}

void keys_wait(struct keys *keys)
{
	struct pollfd one = { .fd = keys->source.fd, .events = POLLIN };

	if (one.fd < 0)
		return;
	if (poll(&one, 1, FIRST_MS) <= 0)
		log_warn("no secrets came in time");
	else
		(void)receive(keys, AT_ONCE);
}

static int token_file(const json_t *tokens)
{
	AUTO_CLOSE int fd = memfd_create("tokens", MFD_CLOEXEC);
	char *text = json_dumps(tokens, JSON_COMPACT);
	int written = fd < 0 || !text
			      ? -1
			      : fileio_write_all(fd, text, strlen(text), NULL);

	secret_wipe_text(text);
	free(text);
	return written < 0 ? -1 : TAKE_FD(fd);
}

/* A bawn-keys that starts again tells what it has before it reads ours. */
static bool are_in_force(const struct gate *gate,
			 const struct keys_tokens *tokens)
{
	const struct login *login = renew_login(gate, tokens->service);
	const char *field, *value;
	json_t *item;
	size_t i;

	json_array_foreach(tokens->list, i, item)
	{
		const struct login_token *token;

		field = json_string_value(json_object_get(item, "field"));
		value = json_string_value(json_object_get(item, "value"));
		token = login ? login_token(login, field) : NULL;
		if (!token || strcmp(secret_text(token->value), value) != 0)
			return false;
	}
	return true;
}

int keys_keep_tokens(struct keys *keys, const struct keys_tokens *tokens)
{
	struct pollfd one = { .fd = keys->source.fd, .events = POLLIN };
	const struct bindings *before = keys->gate->bindings;
	AUTO_CLOSE int fd = token_file(tokens->list);
	struct error err = { 0 };

	if (fd < 0 || one.fd < 0 ||
	    packet_send(one.fd,
			json_pack("{s:s, s:s, s:I, s:b, s:s}", "op", "tokens",
				  "service", tokens->service, "expires",
				  (json_int_t)tokens->expires, "renewed",
				  tokens->renewed, "scope", tokens->scope),
			&fd, 1, &err) < 0) {
		log_error("bawn-keys takes no tokens: %s", err.text);
		return -1;
	}
	while (poll(&one, 1, TOKENS_MS) > 0 && receive(keys, LATER)) {
		if (keys->gate->bindings != before &&
		    are_in_force(keys->gate, tokens))
			return 0;
	}
	return -1;
}

int keys_ask_renewal(struct keys *keys, const char *service)
{
	if (keys->source.fd < 0)
		return -1;
	return packet_send(
		keys->source.fd,
		json_pack("{s:s, s:s}", "op", "renew", "service", service),
		NULL, 0, NULL);
}

void keys_end_renewal(struct keys *keys, const char *service, bool refused)
{
	if (keys->source.fd >= 0)
		(void)packet_send(keys->source.fd,
				  json_pack("{s:s, s:s, s:b}", "op", "renewal",
					    "service", service, "refused",
					    refused),
				  NULL, 0, NULL);
}

void keys_release(struct keys *keys)
{
	loop_del(&keys->source);
	timer_stop(&keys->recheck);
}
