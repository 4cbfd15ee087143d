/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - what bawn-keys holds, and how it tells bawn-net
 */
#include "keys/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "base/text.h"
#include "ipc/packet.h"
#include "state/logins.h"
#include "state/secret_bindings.h"
#include "state/secret_store.h"
#include "state/services.h"

#define MESSAGE_MAX 65536
#define SESSION_MAX ((size_t)1 << 20)
/* bawn-net waits a little longer for the first list, and so does the CLI. */
#define PATIENCE_MS 8000
#define PACKETS_PER_EVENT 16
/* More does not lie in a socket. */
#define PACKETS_LEFT_MAX 1024

AUTO_DEFINE(json, json_t *, json_decref)

static void say(struct server *server, json_t *json)
{
	struct error err = { 0 };

	if (packet_send(server->launcher.fd, json, NULL, 0, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "the launcher does not read: %s",
			    err.text);
}

static void settle(struct server *server)
{
	json_t *json;

	if (!server->due || server->told)
		return;
	server->due = false;
	json = json_pack("{s:s}", "op", "settled");
	if (server->why[0])
		json_object_set_new(json, "error", json_string(server->why));
	say(server, json);
}

/* What the secret of a binding is now. */
static void add_value(struct server *server, const json_t *binding,
		      json_t *entry)
{
	const char *scope =
		json_string_value(json_object_get(binding, "scope"));
	json_t *value = json_object_get(binding, "value");
	const struct secret *secret;
	const char *why = NULL;

	if (value) {
		json_object_set(entry, "value", value);
		json_object_set_new(entry, "why", json_null());
		return;
	}
	if (strcmp(scope, "sandbox") == 0)
		scope = server->config.scope;
	secret = commands_value(&server->commands, binding, scope, &why);
	json_object_set_new(
		entry, "value",
		secret ? json_stringn(secret_text(secret), secret_len(secret))
		       : json_null());
	json_object_set_new(entry, "why",
			    secret ? json_null() : json_string(why));
}

static json_t *make_list(struct server *server)
{
	static const char *const copied[] = {
		"name",       "placeholder",  "hosts",
		"headers",    "query",        "methods",
		"paths",      SERVICE_EXCEPT, SERVICE_QUESTIONS,
		"plain_http",
	};
	json_t *list = json_array(), *binding, *entry;
	size_t i;

	commands_begin(&server->commands);
	json_array_foreach(server->bindings, i, binding)
	{
		/* Without a placeholder no guest was told of it. */
		if (!json_is_string(json_object_get(binding, "placeholder")))
			continue;
		entry = json_object();
		for (size_t k = 0; k < ARRAY_SIZE(copied); k++)
			json_object_set(entry, copied[k],
					json_object_get(binding, copied[k]));
		add_value(server, binding, entry);
		json_array_append_new(list, entry);
	}
	commands_end(&server->commands);
	return json_pack("{s:o, s:O}", "secrets", list, "logins",
			 server->logins);
}

static int list_file(struct server *server, struct error *err)
{
	AUTO(json) json_t *list = make_list(server);
	AUTO_CLOSE int fd =
		memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *text = json_dumps(list, JSON_COMPACT);
	int result = -1;

	if (text && fd >= 0)
		result = fileio_write_all(fd, text, strlen(text), err);
	secret_wipe_text(text);
	free(text);
	if (result < 0 ||
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_set(err, errno, "list of secrets");
	return TAKE_FD(fd);
}

/* The whole list to the bawn-net that lives now. */
static void push(struct server *server)
{
	struct error err = { 0 };
	AUTO_CLOSE int fd = list_file(server, &err);

	/* The first one tells all: until then commands are waited for. */
	if (!server->begun && commands_waiting(&server->commands))
		return;
	server->begun = true;
	timer_stop(&server->patience);
	if (fd < 0) {
		text_copy(server->why, sizeof(server->why), err.text);
	} else if (server->net.fd >= 0) {
		if (packet_send(server->net.fd,
				json_pack("{s:s}", "op", "secrets"), &fd, 1,
				&err) < 0)
			text_copy(server->why, sizeof(server->why), err.text);
		else
			server->told = true;
	}
	settle(server);
}

/* Fails closed: what cannot be read is not there. */
static void load(struct server *server)
{
	const struct server_config *config = &server->config;
	struct error err = { 0 };
	AUTO(json)
	json_t *services =
		services_load_from(config->services, config->services_d, &err);
	AUTO(json) json_t *all = NULL;
	AUTO(json) json_t *own = NULL;

	if (services)
		all = secret_store_load(server->store, SECRET_STORE_ALL, &err);
	if (all)
		own = secret_store_load(server->store, config->scope, &err);
	json_decref(server->bindings);
	json_decref(server->logins);
	server->why[0] = '\0';
	if (own) {
		server->bindings = secret_bindings_make(services, all, own,
							server->session);
		server->logins = logins_for(services, all, own, config->agent);
		return;
	}
	log_error("%s", err.text);
	text_copy(server->why, sizeof(server->why), err.text);
	server->bindings = json_array();
	server->logins = json_array();
}

json_t *server_read_list(struct packet *packet)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(SESSION_MAX);
	AUTO_CLOSE int fd = packet_take_fd(packet, 0);
	json_t *list;

	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fileio_read_fd(fd, &text, NULL) < 0 || !text.len)
		return NULL;
	list = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, NULL);
	secret_wipe(text.data, text.len);
	if (json_is_array(list))
		return list;
	json_decref(list);
	return NULL;
}

static void on_tokens(struct server *server, struct packet *packet)
{
	struct error err = { 0 };

	if (tokens_keep(&server->tokens, packet, &err) < 0)
		log_error("the tokens of a login are lost: %s", err.text);
	load(server);
	push(server);
}

void server_refresh(struct server *server)
{
	AUTO(json) json_t *bindings = json_incref(server->bindings);
	AUTO(json) json_t *logins = json_incref(server->logins);

	load(server);
	if (!json_equal(bindings, server->bindings) ||
	    !json_equal(logins, server->logins))
		push(server);
}

/* bawn-net wants to renew a login, or does so no more. */
static void on_renewal(struct server *server, const json_t *packet, bool over)
{
	const char *service =
		json_string_value(json_object_get(packet, "service"));
	bool refused = json_is_true(json_object_get(packet, "refused"));

	if (!service)
		return;
	if (!over)
		tokens_lend(&server->tokens, service);
	else if (tokens_end(&server->tokens, service, refused))
		server_refresh(server);
}

/* Another sandbox has renewed a login that is for all. */
static void on_change(struct source *source, uint32_t events)
{
	struct server *server = CONTAINER_OF(source, struct server, changes);
	char text[4096]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(source->fd, text, sizeof(text));
	bool all = false;

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *one =
			(const struct inotify_event *)(text + at);

		all |= one->len && !strcmp(one->name, SECRET_STORE_ALL ".json");
		at += (ssize_t)(sizeof(*one) + one->len);
	}
	if (all)
		server_refresh(server);
}

static void on_command(void *ctx)
{
	push(ctx);
}

static void on_patience(struct timer *timer)
{
	struct server *server = CONTAINER_OF(timer, struct server, patience);

	server->begun = true;
	push(server);
}

static void close_net(struct server *server)
{
	loop_del(&server->net);
	if (server->net.fd >= 0)
		close(server->net.fd);
	server->net.fd = -1;
	server->told = false;
	tokens_forget(&server->tokens);
}

static void on_taken(struct server *server, const json_t *packet)
{
	const char *error = json_string_value(json_object_get(packet, "error"));

	server->told = false;
	if (error) {
		text_printable(error, strlen(error), server->why,
			       sizeof(server->why));
		log_error("bawn-net refuses the secrets: %s", server->why);
	}
	settle(server);
}

/* False: none was there. */
static bool take_packet(struct server *server)
{
	struct packet packet;
	int got = packet_receive(server->net.fd, &packet, NULL);

	if (got < 0) {
		/* The launcher starts another one, and says so. */
		close_net(server);
		settle(server);
	}
	if (got <= 0)
		return false;
	if (strcmp(packet_op(&packet), "taken") == 0)
		on_taken(server, packet.json);
	else if (strcmp(packet_op(&packet), "tokens") == 0)
		on_tokens(server, &packet);
	else if (strcmp(packet_op(&packet), "renew") == 0)
		on_renewal(server, packet.json, false);
	else if (strcmp(packet_op(&packet), "renewal") == 0)
		on_renewal(server, packet.json, true);
	packet_release(&packet);
	return true;
}

static void on_net(struct source *source, uint32_t events)
{
	(void)take_packet(CONTAINER_OF(source, struct server, net));
}

static int use_net(struct server *server, struct packet *packet)
{
	int fd = packet_take_fd(packet, 0);
	struct error err = { 0 };

	if (fd < 0)
		return -1;
	/* The one before may have died with tokens on their way to us. */
	for (int i = 0;
	     i < PACKETS_LEFT_MAX && server->net.fd >= 0 && take_packet(server);
	     i++)
		;
	close_net(server);
	server->net.fd = fd;
	if (loop_add(server->loop, &server->net, &err) < 0) {
		log_error("%s", err.text);
		close_net(server);
		return 0;
	}
	push(server);
	return 0;
}

static int use_session(struct server *server, struct packet *packet)
{
	json_t *session = server_read_list(packet);

	if (!session)
		return -1;
	json_decref(server->session);
	server->session = session;
	load(server);
	return 0;
}

static int reload(struct server *server, struct packet *packet)
{
	server->due = true;
	load(server);
	push(server);
	return 0;
}

static const struct {
	const char *op;
	int (*handle)(struct server *server, struct packet *packet);
} ops[] = {
	{ "net", use_net },
	{ "session", use_session },
	{ "reload", reload },
};

static void on_packet(struct server *server, struct packet *packet)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (strcmp(ops[i].op, packet_op(packet)) != 0)
			continue;
		if (ops[i].handle(server, packet) < 0)
			log_warn("a packet of the launcher is malformed");
		return;
	}
	log_warn("unknown packet of the launcher");
}

static void on_launcher(struct source *source, uint32_t events)
{
	struct server *server = CONTAINER_OF(source, struct server, launcher);

	for (int i = 0; i < PACKETS_PER_EVENT; i++) {
		struct packet packet;
		int got = packet_receive(source->fd, &packet, NULL);

		if (got < 0) {
			server->end = "the launcher has gone";
			loop_stop(server->loop);
		}
		if (got <= 0)
			return;
		on_packet(server, &packet);
		packet_release(&packet);
	}
}

static struct source source_of(const char *name, int fd, source_fn *fn)
{
	return (struct source){
		.name = name, .fd = fd, .events = EPOLLIN, .on_event = fn
	};
}

int server_init(struct server *server, struct loop *loop, int control,
		int runner, struct error *err)
{
	*server = (struct server){ .loop = loop, .store = -1 };
	server->session = json_array();
	server->bindings = json_array();
	server->logins = json_array();
	server->launcher = source_of("launcher", control, on_launcher);
	server->net = source_of("bawn-net", -1, on_net);
	server->changes = source_of("store", -1, on_change);
	tokens_init(&server->tokens, server);
	server->patience =
		(struct timer){ .name = "commands", .on_fire = on_patience };
	if (commands_init(&server->commands, loop, runner, err) < 0)
		return -1;
	server->commands.on_change = on_command;
	server->commands.ctx = server;
	return loop_add(loop, &server->launcher, err);
}

/* Without it news of other sandboxes come when they are asked for. */
static void watch(struct server *server, const char *store)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	server->changes.fd = fd;
	if (fd < 0 || inotify_add_watch(fd, store, IN_MOVED_TO) < 0 ||
	    loop_add(server->loop, &server->changes, NULL) < 0)
		log_warn("the store is not watched: %s", strerror(errno));
}

int server_read_config(struct server *server, int fd, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MESSAGE_MAX);
	const char *store, *scope, *services, *services_d, *agent = "";
	AUTO(json) json_t *json = NULL;

	if (fileio_read_fd(fd, &text, err) < 0)
		return error_prefix(err, "start message");
	close(fd);
	json = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, NULL);
	if (!json ||
	    json_unpack(json, "{s:s, s:s, s:s, s:s, s?s}", "store", &store,
			"scope", &scope, "services", &services, "services_d",
			&services_d, "agent", &agent) < 0)
		return error_set(err, 0, "start message: malformed");
	server->config =
		(struct server_config){ xstrdup(store), xstrdup(scope),
					xstrdup(services), xstrdup(services_d),
					xstrdup(agent) };
	server->store =
		open(store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (server->store < 0)
		return error_set(err, errno, "%s", store);
	watch(server, store);
	return 0;
}

int server_start(struct server *server, struct error *err)
{
	load(server);
	timer_start(server->loop, &server->patience, PATIENCE_MS);
	/* Commands begin to run; the list goes when there is a bawn-net. */
	json_decref(make_list(server));
	say(server, json_pack("{s:s}", "op", "ready"));
	return 0;
}

void server_release(struct server *server)
{
	close_net(server);
	loop_del(&server->launcher);
	loop_del(&server->changes);
	if (server->changes.fd >= 0)
		close(server->changes.fd);
	tokens_release(&server->tokens);
	timer_stop(&server->patience);
	commands_release(&server->commands);
	json_decref(server->session);
	json_decref(server->bindings);
	json_decref(server->logins);
	free(server->config.agent);
	free(server->config.store);
	free(server->config.scope);
	free(server->config.services);
	free(server->config.services_d);
	if (server->store >= 0)
		close(server->store);
}
