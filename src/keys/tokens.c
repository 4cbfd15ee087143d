/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.c - the tokens of logins: who may renew them, and where they are kept
 */
#include "keys/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/packet.h"
#include "keys/server.h"
#include "state/logins.h"
#include "state/secret_store.h"
#include "state/services.h"

/* A lock tells nobody when it is free. */
#define AGAIN_MS 200

AUTO_DEFINE(json, json_t *, json_decref)

/* Both stores, to be changed under the lock. */
struct stores {
	int lock;          /* owned */
	json_t *all, *own; /* owned */
};

static void stores_release(struct stores *stores)
{
	json_decref(stores->all);
	json_decref(stores->own);
	if (stores->lock >= 0)
		close(stores->lock);
}
#define AUTO_STORES __attribute__((cleanup(stores_release)))

static int stores_open(const struct server *server, struct stores *stores,
		       struct error *err)
{
	stores->lock = secret_store_lock(server->store, err);
	if (stores->lock < 0)
		return -1;
	stores->all = secret_store_load(server->store, SECRET_STORE_ALL, err);
	if (stores->all)
		stores->own = secret_store_load(server->store,
						server->config.scope, err);
	return stores->own ? 0 : -1;
}

static int save(const struct server *server, const struct stores *stores,
		const json_t *store, struct error *err)
{
	return secret_store_save(server->store,
				 store == stores->all ? SECRET_STORE_ALL
						      : server->config.scope,
				 store, err);
}

/*
 * Which one has the login that a sandbox uses. Only a renewal gets at the one
 * for all: else a guest could log all sandboxes in to an account of its choice.
 */
static json_t *store_of(const struct stores *stores, const char *service,
			bool renewed)
{
	const json_t *own = logins_of(stores->own, service);

	if (!renewed && login_is_for_all(own))
		return stores->all;
	if (!login_is_made(own) && renewed &&
	    login_is_made(logins_of(stores->all, service)))
		return stores->all;
	return stores->own;
}

static int put(struct server *server, const json_t *packet,
	       const json_t *tokens, struct error *err)
{
	const struct server_config *config = &server->config;
	AUTO_STORES struct stores stores = { .lock = -1 };
	AUTO(json)
	json_t *services =
		services_load_from(config->services, config->services_d, err);
	const char *service =
		json_string_value(json_object_get(packet, "service"));
	const char *scope = json_string_value(json_object_get(packet, "scope"));
	bool renewed = json_is_true(json_object_get(packet, "renewed"));
	json_t *store;

	if (!services || stores_open(server, &stores, err) < 0)
		return -1;
	store = store_of(&stores, service, renewed);
	if (logins_put(store, services, service, tokens, err) < 0)
		return -1;
	logins_set_expiry(
		store, service,
		json_integer_value(json_object_get(packet, "expires")));
	/* None in the answer to a renewal: the same (RFC 6749, 5.1). */
	if (!renewed || (scope && *scope))
		logins_set_scope(store, service, scope);
	if (save(server, &stores, store, err) < 0)
		return -1;
	/* It is what all of them use from now on, this one too. */
	if (store == stores.all && logins_remove(stores.own, service))
		return save(server, &stores, stores.own, err);
	return 0;
}

static struct tokens_lease *find(struct tokens *tokens, const char *service)
{
	for (size_t i = 0; i < TOKENS_LEASES_MAX; i++) {
		struct tokens_lease *one = &tokens->leases[i];

		if (service ? one->service && !strcmp(one->service, service)
			    : !one->service)
			return one;
	}
	return NULL;
}

static void drop(struct tokens_lease *lease)
{
	if (lease->service && lease->lock >= 0)
		close(lease->lock);
	free(lease->service);
	*lease = (struct tokens_lease){ .lock = -1 };
}

int tokens_keep(struct tokens *tokens, struct packet *packet, struct error *err)
{
	const char *service =
		json_string_value(json_object_get(packet->json, "service"));
	AUTO(json) json_t *list = server_read_list(packet);
	struct tokens_lease *lease;
	int result;

	if (!list || !service)
		return error_set(err, 0, "malformed");
	result = put(tokens->server, packet->json, list, err);
	lease = find(tokens, service);
	if (lease)
		drop(lease);
	return result;
}

static void grant(struct tokens *tokens, const char *service)
{
	/* The one before may have renewed it. */
	server_refresh(tokens->server);
	if (tokens->server->net.fd >= 0)
		(void)packet_send(tokens->server->net.fd,
				  json_pack("{s:s, s:s}", "op", "renew",
					    "service", service),
				  NULL, 0, NULL);
}

static bool is_shared(const struct server *server, const char *service)
{
	AUTO(json)
	json_t *own =
		secret_store_load(server->store, server->config.scope, NULL);

	return !login_is_made(logins_of(own, service));
}

/* False: another one has it. */
static bool take(struct tokens *tokens, struct tokens_lease *lease)
{
	struct server *server = tokens->server;
	char name[SERVICE_NAME_MAX + sizeof(".renewal")];
	struct error err = { 0 };

	if (text_format(name, sizeof(name), "%s.renewal", lease->service) == 0)
		lease->lock =
			fileio_lock(server->store, name, FILEIO_LOCK_TRY, &err);
	/* Without a lock two may renew at once: less bad than nobody. */
	if (lease->lock < 0 && err.code == EWOULDBLOCK)
		return false;
	grant(tokens, lease->service);
	return true;
}

static void on_again(struct timer *timer)
{
	struct tokens *tokens = CONTAINER_OF(timer, struct tokens, again);
	bool waiting = false;

	for (size_t i = 0; i < TOKENS_LEASES_MAX; i++) {
		struct tokens_lease *one = &tokens->leases[i];

		if (one->service && one->lock < 0 && !take(tokens, one))
			waiting = true;
	}
	if (waiting)
		timer_start(tokens->server->loop, timer, AGAIN_MS);
}

void tokens_lend(struct tokens *tokens, const char *service)
{
	struct tokens_lease *lease = find(tokens, service);

	if (service_check_name(service, NULL) < 0)
		return;
	if (!lease)
		lease = find(tokens, NULL);
	/* This sandbox's own is renewed by its bawn-net alone. */
	if (!lease || !is_shared(tokens->server, service)) {
		grant(tokens, service);
		return;
	}
	drop(lease);
	lease->service = xstrdup(service);
	if (!take(tokens, lease))
		timer_start(tokens->server->loop, &tokens->again, AGAIN_MS);
}

static int refuse(struct server *server, const char *service, struct error *err)
{
	AUTO_STORES struct stores stores = { .lock = -1 };
	json_t *store;

	if (stores_open(server, &stores, err) < 0)
		return -1;
	store = store_of(&stores, service, true);
	if (!logins_refuse(store, service))
		return 0;
	log_warn("the login %s has to be made again", service);
	return save(server, &stores, store, err) < 0 ? -1 : 1;
}

int tokens_end(struct tokens *tokens, const char *service, bool refused)
{
	struct tokens_lease *lease;
	struct error err = { 0 };
	int changed = refused ? refuse(tokens->server, service, &err) : 0;

	if (changed < 0)
		log_error("%s", err.text);
	lease = find(tokens, service);
	if (lease)
		drop(lease);
	return changed > 0;
}

void tokens_forget(struct tokens *tokens)
{
	timer_stop(&tokens->again);
	for (size_t i = 0; i < TOKENS_LEASES_MAX; i++)
		drop(&tokens->leases[i]);
}

void tokens_init(struct tokens *tokens, struct server *server)
{
	*tokens = (struct tokens){ .server = server };
	tokens->again =
		(struct timer){ .name = "renewals", .on_fire = on_again };
	for (size_t i = 0; i < TOKENS_LEASES_MAX; i++)
		tokens->leases[i].lock = -1;
}

void tokens_release(struct tokens *tokens)
{
	tokens_forget(tokens);
}
