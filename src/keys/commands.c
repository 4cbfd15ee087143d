/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - values that a program of the user's tells
 */
#include "keys/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "ipc/packet.h"
#include "state/secret_store.h"

static void release(struct command_value *one)
{
	free(one->name);
	free(one->scope);
	free(one->command);
	secret_free(one->value);
}

/* For what is due next; nothing is: no timer. */
static void set_timer(struct commands *commands)
{
	uint64_t next = UINT64_MAX, now = loop_now_ms();

	for (size_t i = 0; i < commands->count; i++) {
		if (commands->list[i].due_ms < next)
			next = commands->list[i].due_ms;
	}
	timer_stop(&commands->timer);
	if (next != UINT64_MAX)
		timer_start(commands->loop, &commands->timer,
			    next > now ? next - now : 1);
}

static void failed(struct command_value *one)
{
	log_warn("the command of secret %s failed", one->name);
	one->running = false;
	one->failed = true;
	one->due_ms = loop_now_ms() + COMMANDS_RETRY_MS;
}

static void ask(struct commands *commands, struct command_value *one)
{
	json_t *question;

	one->id = ++commands->last_id;
	one->running = true;
	one->due_ms = loop_now_ms() + COMMANDS_LIMIT_MS;
	question = json_pack("{s:I, s:s, s:s}", "id", (json_int_t)one->id,
			     "scope", one->scope, "name", one->name);
	if (commands->runner.fd < 0) {
		json_decref(question);
		failed(one);
	} else if (packet_send(commands->runner.fd, question, NULL, 0, NULL) <
		   0) {
		failed(one);
	}
}

static void take_value(struct command_value *one, const json_t *json)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);
	struct secret *value = NULL;
	struct error err = { 0 };

	if (text && secret_store_check_value(text, &len, &err) == 0)
		value = secret_new(text, len, &err);
	if (!value) {
		failed(one);
		return;
	}
	secret_free(one->value);
	one->value = value;
	one->running = one->failed = false;
	one->due_ms = loop_now_ms() + one->cache_ms;
}

static void on_answer(struct commands *commands, const json_t *json)
{
	json_int_t id = json_integer_value(json_object_get(json, "id"));

	for (size_t i = 0; i < commands->count; i++) {
		struct command_value *one = &commands->list[i];

		if (one->running && (json_int_t)one->id == id)
			take_value(one, json_object_get(json, "value"));
	}
	set_timer(commands);
	commands->on_change(commands->ctx);
}

static void on_runner(struct source *source, uint32_t events)
{
	struct commands *commands =
		CONTAINER_OF(source, struct commands, runner);
	struct error err = { 0 };
	struct packet packet;
	int got = packet_receive(source->fd, &packet, &err);

	if (got < 0) {
		log_warn("commands of secrets cannot run any more");
		loop_del(source);
		source->fd = -1;
	}
	if (got <= 0)
		return;
	on_answer(commands, packet.json);
	packet_release(&packet);
}

static void on_due(struct timer *timer)
{
	struct commands *commands = CONTAINER_OF(timer, struct commands, timer);
	uint64_t now = loop_now_ms();

	for (size_t i = 0; i < commands->count; i++) {
		struct command_value *one = &commands->list[i];

		if (one->due_ms > now)
			continue;
		if (one->running)
			failed(one);
		else
			ask(commands, one);
	}
	set_timer(commands);
	commands->on_change(commands->ctx);
}

int commands_init(struct commands *commands, struct loop *loop, int fd,
		  struct error *err)
{
	*commands = (struct commands){ .loop = loop };
	commands->timer =
		(struct timer){ .name = "command", .on_fire = on_due };
	commands->runner = (struct source){ .name = "runner",
					    .fd = fd,
					    .events = EPOLLIN,
					    .on_event = on_runner };
	return fd < 0 ? 0 : loop_add(loop, &commands->runner, err);
}

void commands_begin(struct commands *commands)
{
	for (size_t i = 0; i < commands->count; i++)
		commands->list[i].wanted = false;
}

void commands_end(struct commands *commands)
{
	size_t kept = 0;

	for (size_t i = 0; i < commands->count; i++) {
		if (commands->list[i].wanted)
			commands->list[kept++] = commands->list[i];
		else
			release(&commands->list[i]);
	}
	commands->count = kept;
	set_timer(commands);
}

static struct command_value *find(struct commands *commands, const char *name,
				  const char *scope, const char *command)
{
	for (size_t i = 0; i < commands->count; i++) {
		struct command_value *one = &commands->list[i];

		if (!strcmp(one->name, name) && !strcmp(one->scope, scope) &&
		    !strcmp(one->command, command))
			return one;
	}
	return NULL;
}

const struct secret *commands_value(struct commands *commands,
				    const json_t *binding, const char *scope,
				    const char **why)
{
	const char *name = json_string_value(json_object_get(binding, "name"));
	const char *command =
		json_string_value(json_object_get(binding, "command"));
	json_int_t cache_s =
		json_integer_value(json_object_get(binding, "cache_s"));
	struct command_value *one = find(commands, name, scope, command);

	if (!one && commands->count == COMMANDS_MAX) {
		*why = "too many secrets have a command";
		return NULL;
	}
	if (!one) {
		one = &commands->list[commands->count++];
		*one = (struct command_value){ .name = xstrdup(name),
					       .scope = xstrdup(scope),
					       .command = xstrdup(command) };
		one->cache_ms =
			1000 * (uint64_t)(cache_s > 0 ? cache_s
						      : SECRET_STORE_CACHE_S);
		ask(commands, one);
	}
	one->wanted = true;
	*why = commands->runner.fd < 0
		       ? "nobody can run the command of this secret"
	       : one->failed ? "the command of this secret failed"
			     : "the command of this secret has not answered";
	return one->value;
}

bool commands_waiting(const struct commands *commands)
{
	for (size_t i = 0; i < commands->count; i++) {
		if (commands->list[i].running && !commands->list[i].value)
			return true;
	}
	return false;
}

void commands_release(struct commands *commands)
{
	timer_stop(&commands->timer);
	loop_del(&commands->runner);
	for (size_t i = 0; i < commands->count; i++)
		release(&commands->list[i]);
	commands->count = 0;
}
