/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_keys.c - the row of bawn-keys
 */
#include "launch/keeper_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/secret.h"
#include "base/text.h"
#include "ipc/packet.h"
#include "launch/key_runner.h"
#include "launch/profile.h"

#define SESSION_MAX 64

static struct keeper_keys *of(struct keeper *keeper)
{
	return CONTAINER_OF(keeper, struct keeper_keys, keeper);
}

static json_t *message(struct keeper *keeper)
{
	return json_copy(keeper->settings);
}

static int open_extra(struct keeper *keeper, int extra[KEEPER_EXTRA],
		      struct error *err)
{
	struct keeper_keys *keys = of(keeper);

	if (keys->runner < 0)
		return 0;
	extra[0] = fcntl(keys->runner, F_DUPFD_CLOEXEC, 0);
	return extra[0] < 0 ? error_set(err, errno, "bawn-keys") : 0;
}

static void send_packet(struct keeper_keys *keys, const char *op, int fd)
{
	struct error err = { 0 };

	if (keys->keeper.life != KEEPER_SERVING)
		return;
	if (packet_send(keys->keeper.control.fd, json_pack("{s:s}", "op", op),
			&fd, fd >= 0, &err) == 0)
		return;
	log_limited(LOG_LEVEL_WARN, "bawn-keys takes no packet: %s", err.text);
	keeper_kill(&keys->keeper);
}

static void send_session(struct keeper_keys *keys)
{
	AUTO_CLOSE int fd = memfd_create("session", MFD_CLOEXEC);
	char *text = json_dumps(keys->session, JSON_COMPACT);
	struct error err = { 0 };

	if (!text || fd < 0 ||
	    fileio_write_all(fd, text, strlen(text), &err) < 0)
		log_error("keys of a session are lost");
	else if (json_array_size(keys->session))
		send_packet(keys, "session", fd);
	secret_wipe_text(text);
	free(text);
}

static void on_ready(struct keeper *keeper)
{
	struct keeper_keys *keys = of(keeper);

	send_session(keys);
	if (keys->net >= 0)
		send_packet(keys, "net", keys->net);
	if (keys->reloading || json_array_size(keys->session))
		send_packet(keys, "reload", -1);
}

static void on_settled(struct keeper_keys *keys, const json_t *packet)
{
	const char *error = json_string_value(json_object_get(packet, "error"));

	keys->reloading = false;
	text_printable(error ? error : "", error ? strlen(error) : 0, keys->why,
		       sizeof(keys->why));
}

static bool read_control(struct keeper *keeper)
{
	struct error err = { 0 };
	struct packet packet;
	int got = packet_receive(keeper->control.fd, &packet, &err);

	if (got == 0)
		return false;
	if (got < 0) {
		loop_del(&keeper->control);
		if (err.code != ECONNRESET)
			keeper_kill(keeper);
		return false;
	}
	if (strcmp(packet_op(&packet), "ready") == 0)
		keeper_ready(keeper);
	else if (strcmp(packet_op(&packet), "settled") == 0)
		on_settled(of(keeper), packet.json);
	packet_release(&packet);
	keeper->ops->on_change(keeper->ctx);
	return true;
}

static const struct keeper_row row = {
	.program = "bawn-keys",
	.lost = "no secret is put in",
	.channel = SOCK_SEQPACKET,
	.prepare = profile_leave_network,
	.message = message,
	.open_extra = open_extra,
	.read_control = read_control,
	.on_ready = on_ready,
};

int keeper_keys_init(struct keeper_keys *keys, struct loop *loop, int folder,
		     json_t *settings, struct error *err)
{
	keys->wanted = settings;
	keys->session = json_array();
	keys->runner = keys->net = -1;
	/* A secret with a command may come later: then it could not start. */
	if (json_is_object(settings)) {
		keys->runner = key_runner_start(settings, err);
		if (keys->runner < 0)
			return -1;
	}
	return keeper_init(&keys->keeper, &row, loop, -1, folder, NULL, err);
}

static void begin(struct keeper_keys *keys)
{
	*keys->expected = true;
	keeper_serve(&keys->keeper, json_incref(keys->wanted));
}

void keeper_keys_serve(struct keeper_keys *keys)
{
	if (json_is_true(json_object_get(keys->wanted, "secrets")))
		begin(keys);
}

void keeper_keys_use_net(struct keeper_keys *keys, int fd)
{
	if (keys->net >= 0)
		close(keys->net);
	keys->net = fd;
	send_packet(keys, "net", fd);
}

static json_t *find(const json_t *list, const json_t *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (json_equal(json_object_get(item, "name"), name))
			return item;
	}
	return NULL;
}

static int add_session(struct keeper_keys *keys, const json_t *list,
		       json_t *bound, struct error *err)
{
	json_t *item, *old;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *name, *value;

		if (json_unpack_ex(item, NULL, JSON_STRICT, "{s:s, s:s}",
				   "name", &name, "value", &value) < 0 ||
		    json_array_size(keys->session) >= SESSION_MAX)
			return error_set(err, EINVAL, "keys: a session's");
		old = find(keys->session, json_object_get(item, "name"));
		if (old) {
			json_object_update(old, item);
			continue;
		}
		json_array_append(keys->session, item);
		json_array_append(bound, json_object_get(item, "name"));
	}
	return 0;
}

int keeper_keys_reload(struct keeper_keys *keys, const json_t *session,
		       json_t *bound, struct error *err)
{
	if (!json_is_object(keys->wanted))
		return error_set(err, ESRCH, "there is no network");
	if (add_session(keys, session, bound, err) < 0)
		return -1;
	keys->reloading = true;
	keys->why[0] = '\0';
	if (keys->keeper.life == KEEPER_IDLE ||
	    keys->keeper.life == KEEPER_GIVEN_UP) {
		timer_stop(&keys->keeper.retry);
		begin(keys);
	} else if (keys->keeper.life == KEEPER_SERVING) {
		send_session(keys);
		send_packet(keys, "reload", -1);
	}
	return 0;
}

bool keeper_keys_settled(const struct keeper_keys *keys)
{
	return !keys->reloading;
}

void keeper_keys_release(struct keeper_keys *keys)
{
	keeper_release(&keys->keeper);
	json_decref(keys->wanted);
	json_decref(keys->session);
	if (keys->runner >= 0)
		close(keys->runner);
	if (keys->net >= 0)
		close(keys->net);
}
