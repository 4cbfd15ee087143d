/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.c - the launcher's side of the user's own program
 */
#include "launch/hook_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "ipc/packet.h"

void hook_first_word(const void *bytes, size_t len, char word[HOOK_WORD_SIZE])
{
	const char *text = bytes;
	size_t begin = 0, end;

	while (begin < len && strchr(" \t\r\n", text[begin]) && text[begin])
		begin++;
	end = begin;
	while (end < len && text[end] >= 'a' && text[end] <= 'z')
		end++;
	word[0] = '\0';
	if (end - begin >= HOOK_WORD_SIZE || end == begin ||
	    (end < len && (!text[end] || !strchr(" \t\r\n", text[end]))))
		return;
	memcpy(word, text + begin, end - begin);
	word[end - begin] = '\0';
}

int hook_start(struct hook *hook, const json_t *settings, struct error *err)
{
	int ends[2];
	pid_t parent = getpid(), pid;

	*hook = (struct hook){ .source = { .fd = -1 } };
	if (!json_is_object(settings))
		return 0;
	if (packet_pair(ends, err) < 0)
		return -1;
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return error_set(err, errno, "hook");
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		hook_run(settings, ends[1]);
	}
	close(ends[1]);
	hook->source.fd = ends[0];
	return 0;
}

static void on_packet(struct hook *hook, const json_t *json)
{
	json_int_t id = json_integer_value(json_object_get(json, "id"));
	const char *word = json_string_value(json_object_get(json, "word"));

	if (hook->running)
		hook->running--;
	if (word && id > 0 && id <= UINT32_MAX)
		hook->on_answer(hook->ctx, (uint32_t)id, word);
}

static void on_event(struct source *source, uint32_t events)
{
	struct hook *hook = CONTAINER_OF(source, struct hook, source);
	struct error err = { 0 };
	struct packet packet;
	int got = packet_receive(source->fd, &packet, &err);

	if (got == 0)
		return;
	if (got < 0) {
		log_warn("the hook's runner has gone: %s", err.text);
		hook_close(hook);
		return;
	}
	on_packet(hook, packet.json);
	packet_release(&packet);
}

int hook_watch(struct hook *hook, struct loop *loop, struct error *err)
{
	if (hook->source.fd < 0)
		return 0;
	hook->source.name = "hook";
	hook->source.events = EPOLLIN;
	hook->source.on_event = on_event;
	return loop_add(loop, &hook->source, err);
}

bool hook_ask(struct hook *hook, uint32_t id, const json_t *question)
{
	json_t *json;

	if (hook->source.fd < 0 || hook->running >= HOOK_AT_ONCE)
		return false;
	json = json_pack("{s:I, s:O}", "id", (json_int_t)id, "question",
			 (json_t *)question);
	if (packet_send(hook->source.fd, json, NULL, 0, NULL) < 0)
		return false;
	hook->running++;
	return true;
}

void hook_close(struct hook *hook)
{
	loop_del(&hook->source);
	if (hook->source.fd >= 0)
		close(hook->source.fd);
	hook->source.fd = -1;
}
