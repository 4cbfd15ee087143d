/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.c - typed messages between supervisor and bawn-init
 * (PROTOCOL.md §4)
 *
 * A decoder reads all its fields and says whether their values are allowed;
 * that they were inside the message, and that nothing follows them, is tested
 * once for all of them.
 */
#include "proto/messages.h"

#include <string.h>

#include "base/own.h"
#include "proto/cursor.h"

#define SESSION_FLAGS \
	(SESSION_PTY | SESSION_STDIN | SESSION_NO_OUTPUT | SESSION_MAKE_FOLDER)

typedef void encode_fn(struct writer *w, const struct message *m);
typedef bool decode_fn(struct cursor *c, struct message *m);

static void copy_bytes(struct cursor *c, uint8_t *dst, size_t len)
{
	const void *bytes = cursor_bytes(c, len);

	if (bytes)
		memcpy(dst, bytes, len);
}

static void write_text(struct writer *w, const char *text)
{
	writer_str(w, text ? text : "");
}

const char *message_string_next(const struct message_strings *strings,
				const char *previous)
{
	const char *next, *text = strings->first;

	if (!previous)
		return strings->count > 0 ? strings->first : NULL;
	next = previous + strlen(previous) + 1;
	if (strings->end)
		return next < strings->end ? next : NULL;
	/* A list that was built by hand has no end; count up to previous. */
	for (uint32_t i = 1; i < strings->count; i++) {
		if (text == previous)
			return next;
		text += strlen(text) + 1;
	}
	return NULL;
}

static void write_strings(struct writer *w, const struct message_strings *list)
{
	const char *text = list->first;

	if (list->count > MESSAGE_ARGS_MAX)
		w->bad = true;
	writer_u32(w, list->count);
	for (uint32_t i = 0; i < list->count && !w->bad; i++) {
		writer_str(w, text);
		text += strlen(text) + 1;
	}
}

static bool read_strings(struct cursor *c, struct message_strings *list)
{
	list->count = cursor_u32(c);
	if (list->count > MESSAGE_ARGS_MAX)
		return false;
	list->first = (const char *)c->pos;
	for (uint32_t i = 0; i < list->count && !c->bad; i++)
		cursor_str(c);
	list->end = (const char *)c->pos;
	return true;
}

static void encode_hello(struct writer *w, const struct message *m)
{
	writer_u32(w, m->hello.version);
	writer_u32(w, m->hello.features);
	write_text(w, m->hello.kernel_release);
	writer_u8(w, m->hello.primed);
}

static bool decode_hello(struct cursor *c, struct message *m)
{
	uint8_t primed;

	m->hello.version = cursor_u32(c);
	m->hello.features = cursor_u32(c);
	m->hello.kernel_release = cursor_str(c);
	primed = cursor_u8(c);
	m->hello.primed = primed == 1;
	return primed <= 1;
}

static void encode_wake(struct writer *w, const struct message *m)
{
	writer_u64(w, m->wake.wall_clock_ns);
	writer_bytes(w, m->wake.entropy, sizeof(m->wake.entropy));
	writer_bytes(w, m->wake.machine_id, sizeof(m->wake.machine_id));
	write_text(w, m->wake.hostname);
	writer_u32(w, m->wake.shares);
	write_text(w, m->wake.authority);
	write_text(w, m->wake.git);
}

static bool decode_wake(struct cursor *c, struct message *m)
{
	m->wake.wall_clock_ns = cursor_u64(c);
	copy_bytes(c, m->wake.entropy, sizeof(m->wake.entropy));
	copy_bytes(c, m->wake.machine_id, sizeof(m->wake.machine_id));
	m->wake.hostname = cursor_str(c);
	m->wake.shares = cursor_u32(c);
	m->wake.authority = cursor_str(c);
	m->wake.git = cursor_str(c);
	return true;
}

static bool problem_fits(const char *problem)
{
	return !problem || strlen(problem) <= MESSAGE_PROBLEM_BYTES;
}

static void encode_awake(struct writer *w, const struct message *m)
{
	write_text(w, m->awake.problem);
	if (!problem_fits(m->awake.problem))
		w->bad = true;
}

static bool decode_awake(struct cursor *c, struct message *m)
{
	m->awake.problem = cursor_str(c);
	return problem_fits(m->awake.problem);
}

static void encode_empty(struct writer *w, const struct message *m)
{
}

static bool decode_empty(struct cursor *c, struct message *m)
{
	return true;
}

static void encode_session_start(struct writer *w, const struct message *m)
{
	const struct message_session_start *start = &m->session_start;

	writer_u32(w, start->session);
	writer_u32(w, start->flags);
	writer_u32(w, start->stdio_stream);
	writer_u32(w, start->stderr_stream);
	writer_u16(w, start->rows);
	writer_u16(w, start->cols);
	write_text(w, start->user);
	write_text(w, start->folder);
	write_strings(w, &start->argv);
	write_strings(w, &start->env);
}

static bool decode_session_start(struct cursor *c, struct message *m)
{
	struct message_session_start *start = &m->session_start;

	start->session = cursor_u32(c);
	start->flags = cursor_u32(c);
	start->stdio_stream = cursor_u32(c);
	start->stderr_stream = cursor_u32(c);
	start->rows = cursor_u16(c);
	start->cols = cursor_u16(c);
	start->user = cursor_str(c);
	start->folder = cursor_str(c);
	return !(start->flags & ~(uint32_t)SESSION_FLAGS) &&
	       read_strings(c, &start->argv) && read_strings(c, &start->env);
}

static void encode_session_started(struct writer *w, const struct message *m)
{
	writer_u32(w, m->session_started.session);
	writer_u32(w, m->session_started.pid);
	writer_u32(w, m->session_started.error);
	writer_u32(w, m->session_started.stage);
}

static bool decode_session_started(struct cursor *c, struct message *m)
{
	m->session_started.session = cursor_u32(c);
	m->session_started.pid = cursor_u32(c);
	m->session_started.error = cursor_u32(c);
	m->session_started.stage = cursor_u32(c);
	return m->session_started.stage <= SESSION_STAGE_OTHER;
}

static void encode_session_signal(struct writer *w, const struct message *m)
{
	writer_u32(w, m->session_signal.session);
	writer_u32(w, m->session_signal.signal);
}

static bool decode_session_signal(struct cursor *c, struct message *m)
{
	m->session_signal.session = cursor_u32(c);
	m->session_signal.signal = cursor_u32(c);
	return true;
}

static void encode_session_resize(struct writer *w, const struct message *m)
{
	writer_u32(w, m->session_resize.session);
	writer_u16(w, m->session_resize.rows);
	writer_u16(w, m->session_resize.cols);
}

static bool decode_session_resize(struct cursor *c, struct message *m)
{
	m->session_resize.session = cursor_u32(c);
	m->session_resize.rows = cursor_u16(c);
	m->session_resize.cols = cursor_u16(c);
	return true;
}

static void encode_session_attach(struct writer *w, const struct message *m)
{
	writer_u32(w, m->session_attach.session);
	writer_u32(w, m->session_attach.stdio_stream);
	writer_u32(w, m->session_attach.stderr_stream);
}

static bool decode_session_attach(struct cursor *c, struct message *m)
{
	m->session_attach.session = cursor_u32(c);
	m->session_attach.stdio_stream = cursor_u32(c);
	m->session_attach.stderr_stream = cursor_u32(c);
	return true;
}

static void encode_session_kill(struct writer *w, const struct message *m)
{
	writer_u32(w, m->session_kill.session);
}

static bool decode_session_kill(struct cursor *c, struct message *m)
{
	m->session_kill.session = cursor_u32(c);
	return true;
}

static void encode_session_exited(struct writer *w, const struct message *m)
{
	writer_u32(w, m->session_exited.session);
	writer_u32(w, m->session_exited.status);
}

static bool decode_session_exited(struct cursor *c, struct message *m)
{
	m->session_exited.session = cursor_u32(c);
	m->session_exited.status = cursor_u32(c);
	return true;
}

static void encode_prepare(struct writer *w, const struct message *m)
{
	writer_bytes(w, m->prepare.marker, sizeof(m->prepare.marker));
}

static bool decode_prepare(struct cursor *c, struct message *m)
{
	copy_bytes(c, m->prepare.marker, sizeof(m->prepare.marker));
	return true;
}

static void encode_stats(struct writer *w, const struct message *m)
{
	writer_u64(w, m->stats.memory_total_bytes);
	writer_u64(w, m->stats.memory_available_bytes);
	writer_u64(w, m->stats.disk_total_bytes);
	writer_u64(w, m->stats.disk_free_bytes);
	writer_u64(w, m->stats.cpu_busy_ms);
	writer_u32(w, m->stats.processes);
}

static bool decode_stats(struct cursor *c, struct message *m)
{
	m->stats.memory_total_bytes = cursor_u64(c);
	m->stats.memory_available_bytes = cursor_u64(c);
	m->stats.disk_total_bytes = cursor_u64(c);
	m->stats.disk_free_bytes = cursor_u64(c);
	m->stats.cpu_busy_ms = cursor_u64(c);
	m->stats.processes = cursor_u32(c);
	return true;
}

static const struct {
	const char *name;
	encode_fn *encode;
	decode_fn *decode;
} table[] = {
	[MESSAGE_HELLO] = { "HELLO", encode_hello, decode_hello },
	[MESSAGE_WAKE] = { "WAKE", encode_wake, decode_wake },
	[MESSAGE_AWAKE] = { "AWAKE", encode_awake, decode_awake },
	[MESSAGE_SESSION_START] = { "SESSION_START", encode_session_start,
				    decode_session_start },
	[MESSAGE_SESSION_STARTED] = { "SESSION_STARTED", encode_session_started,
				      decode_session_started },
	[MESSAGE_SESSION_SIGNAL] = { "SESSION_SIGNAL", encode_session_signal,
				     decode_session_signal },
	[MESSAGE_SESSION_RESIZE] = { "SESSION_RESIZE", encode_session_resize,
				     decode_session_resize },
	[MESSAGE_SESSION_KILL] = { "SESSION_KILL", encode_session_kill,
				   decode_session_kill },
	[MESSAGE_SESSION_EXITED] = { "SESSION_EXITED", encode_session_exited,
				     decode_session_exited },
	[MESSAGE_SESSION_ATTACH] = { "SESSION_ATTACH", encode_session_attach,
				     decode_session_attach },
	[MESSAGE_PREPARE] = { "PREPARE", encode_prepare, decode_prepare },
	[MESSAGE_PREPARED] = { "PREPARED", encode_empty, decode_empty },
	[MESSAGE_POWER_OFF] = { "POWER_OFF", encode_empty, decode_empty },
	[MESSAGE_STATS] = { "STATS", encode_stats, decode_stats },
};
_Static_assert(ARRAY_SIZE(table) == MESSAGE_TYPES, "a row for each type");

static bool known(uint32_t type)
{
	return type < MESSAGE_TYPES && table[type].name;
}

long message_encode(const struct message *message, void *out, size_t size)
{
	struct writer w = writer_over(out, size);

	if (!known(message->type))
		return -1;
	writer_u16(&w, (uint16_t)message->type);
	table[message->type].encode(&w, message);
	return w.bad ? -1 : (long)writer_len(&w);
}

int message_decode(const void *bytes, size_t len, struct message *message)
{
	struct cursor c = cursor_over(bytes, len);
	uint16_t type = cursor_u16(&c);

	memset(message, 0, sizeof(*message));
	if (c.bad || !known(type))
		return -1;
	message->type = (enum message_type)type;
	if (!table[type].decode(&c, message) || !cursor_done(&c))
		return -1;
	return 0;
}

const char *message_name(enum message_type type)
{
	return known((uint32_t)type) ? table[type].name : "unknown";
}
