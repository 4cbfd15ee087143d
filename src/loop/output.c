/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - what an agent prints, as it comes
 */
#include "loop/output.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "loop/output_internal.h"

#define DOLLARS_MAX 1e6
#define TOKENS_MAX ((uint64_t)1 << 40)

AUTO_DEFINE(json, json_t *, json_decref)

static const struct {
	const char *name;
	output_event_fn *event; /* NULL: no events, plain text */
} formats[] = {
	[OUTPUT_TEXT] = { "text", NULL },
	[OUTPUT_CLAUDE] = { "claude-stream-json", output_claude },
	[OUTPUT_CODEX] = { "codex-json", output_codex },
	[OUTPUT_GEMINI] = { "gemini-stream-json", output_gemini },
	[OUTPUT_COPILOT] = { "copilot-json", output_copilot },
	[OUTPUT_OPENCODE] = { "opencode-json", output_opencode },
};
static_assert(ARRAY_SIZE(formats) == OUTPUT_FORMATS, "each format has a row");

int output_format_of(const char *name, enum output_format *format)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(name, formats[i].name)) {
			*format = (enum output_format)i;
			return 0;
		}
	return -1;
}

const char *output_format_name(enum output_format format)
{
	return formats[format].name;
}

void output_init(struct output *output, enum output_format format)
{
	*output = (struct output){ .format = format };
	buffer_init(&output->line, OUTPUT_LINE_MAX);
	buffer_init(&output->message, OUTPUT_MESSAGE_MAX);
	buffer_init(&output->errors, OUTPUT_ERRORS_MAX);
}

void output_release(struct output *output)
{
	buffer_release(&output->line);
	buffer_release(&output->message);
	buffer_release(&output->errors);
}

/* Keeps the end of what is said: promises stand there. */
static void keep_end(struct buffer *buf, const char *bytes, size_t len)
{
	if (len > buf->max) {
		bytes += len - buf->max;
		len = buf->max;
	}
	if (buf->len + len > buf->max)
		buffer_consume(buf, buf->len + len - buf->max);
	buffer_append(buf, bytes, len);
}

void output_say(struct output *output, const char *text, size_t len)
{
	buffer_consume(&output->message, output->message.len);
	keep_end(&output->message, text, len);
	output->message_open = false;
}

void output_add(struct output *output, const char *text, size_t len)
{
	if (!output->message_open)
		buffer_consume(&output->message, output->message.len);
	keep_end(&output->message, text, len);
	output->message_open = true;
}

/* The input's one text that says most, such as a command or a path. */
static const char *say_input(const json_t *input)
{
	static const char *const keys[] = {
		"command", "cmd", "file_path", "path", "pattern", "description"
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(input, keys[i]);

		if (json_is_string(value))
			return json_string_value(value);
	}
	return json_is_string(input) ? json_string_value(input) : "";
}

void output_act(struct output *output, const char *tool, const json_t *input)
{
	const char *more = say_input(input);
	char name[32], rest[sizeof(output->action)],
		both[sizeof(name) + sizeof(rest)];

	text_printable(tool, strlen(tool), name, sizeof(name));
	text_printable(more, strlen(more), rest, sizeof(rest));
	(void)text_format(both, sizeof(both), "%s%s%s", name,
			  rest[0] ? " " : "", rest);
	/* cut between characters */
	text_printable(both, strlen(both), output->action,
		       sizeof(output->action));
	output->actions++;
	/* what it said before is not its last message */
	buffer_consume(&output->message, output->message.len);
	output->message_open = false;
}

void output_fail(struct output *output, const json_t *text)
{
	output->failed = true;
	if (json_is_string(text))
		text_printable(json_string_value(text),
			       json_string_length(text), output->error,
			       sizeof(output->error));
}

void output_trouble(struct output *output, const char *text)
{
	text_printable(text, strlen(text), output->action,
		       sizeof(output->action));
}

void output_status(struct output *output, const json_t *status)
{
	json_int_t value = json_integer_value(status);

	output->status = value >= 100 && value < 1000 ? (int)value : 0;
}

static uint64_t count_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && (uint64_t)value < TOKENS_MAX ? (uint64_t)value : 0;
}

void output_tokens(struct output *output, const json_t *usage,
		   const char *in_key, const char *out_key)
{
	output->tokens_in += count_of(usage, in_key);
	output->tokens_out += count_of(usage, out_key);
}

void output_cost(struct output *output, const json_t *dollars)
{
	double value = json_number_value(dollars);

	if (isfinite(value) && value > 0 && value < DOLLARS_MAX)
		output->cost_micros += (uint64_t)(value * 1e6 + 0.5);
}

static void take_line(struct output *output, const char *line, size_t len)
{
	AUTO(json) json_t *event = NULL;

	/* anything may be printed beside the events */
	if (!len || line[0] != '{')
		return;
	event = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(event))
		formats[output->format].event(output, event);
}

static void feed_events(struct output *output, const char *at, size_t len)
{
	while (len) {
		const char *feed = memchr(at, '\n', len);
		size_t part = feed ? (size_t)(feed - at) : len;

		if (!output->skipping &&
		    buffer_append(&output->line, at, part) < 0)
			output->skipping = true;
		if (feed && !output->skipping)
			take_line(output, (const char *)output->line.data,
				  output->line.len);
		if (feed || output->skipping)
			buffer_consume(&output->line, output->line.len);
		if (feed)
			output->skipping = false;
		at += part + (feed ? 1 : 0);
		len -= part + (feed ? 1 : 0);
	}
}

/* The last line, for who watches. */
static void show_text(struct output *output)
{
	const char *text = (const char *)output->message.data;
	size_t end = output->message.len, start;

	while (end && strchr(" \t\r\n", text[end - 1]))
		end--;
	for (start = end; start && text[start - 1] != '\n'; start--)
		;
	if (end > start)
		text_printable(text + start, end - start, output->action,
			       sizeof(output->action));
}

void output_feed(struct output *output, const void *bytes, size_t len)
{
	if (!len)
		return;
	if (formats[output->format].event) {
		feed_events(output, bytes, len);
		return;
	}
	keep_end(&output->message, bytes, len);
	show_text(output);
}

void output_feed_errors(struct output *output, const void *bytes, size_t len)
{
	keep_end(&output->errors, bytes, len);
}

/* Takes out every echo of the prompt, which ends where its spaces begin. */
static void drop_echo(struct buffer *text, const char *prompt)
{
	AUTO_BUFFER struct buffer kept = BUFFER_INIT(OUTPUT_MESSAGE_MAX);
	const uint8_t *at = text->data, *end = at + text->len, *echo;
	size_t len = strlen(prompt);

	while (len && strchr(" \t\r\n", prompt[len - 1]))
		len--;
	if (!len)
		return;
	while ((echo = memmem(at, (size_t)(end - at), prompt, len))) {
		buffer_append(&kept, at, (size_t)(echo - at));
		at = echo + len;
	}
	buffer_append(&kept, at, (size_t)(end - at));
	buffer_consume(text, text->len);
	buffer_append(text, kept.data, kept.len);
}

/* Where the last lines begin. */
static size_t last_lines(const struct buffer *text)
{
	size_t at = text->len;
	unsigned lines = 0;

	while (at && lines <= OUTPUT_TEXT_LINES)
		if (text->data[--at] == '\n')
			lines++;
	return at;
}

/*
 * A fence may have been opened before the last lines: so blanks stand for
 * what is too old, but for the marks of fences.
 */
static void finish_text(struct output *output, const char *prompt)
{
	AUTO_BUFFER struct buffer kept = BUFFER_INIT(OUTPUT_MESSAGE_MAX);
	const char *text;
	size_t from, at = 0;

	drop_echo(&output->message, prompt);
	from = last_lines(&output->message);
	text = (const char *)output->message.data;
	while (at < output->message.len) {
		const char *feed =
			memchr(text + at, '\n', output->message.len - at);
		size_t end = feed ? (size_t)(feed - text) : output->message.len;

		if (at >= from || text[at] == '`' || text[at] == '~')
			buffer_append(&kept, text + at, end - at);
		if (feed)
			buffer_append(&kept, "\n", 1);
		at = end + (feed ? 1 : 0);
	}
	output_say(output, (const char *)kept.data, kept.len);
}

void output_finish(struct output *output, const char *prompt)
{
	if (formats[output->format].event)
		feed_events(output, "\n", 1);
	else if (output->message.len)
		finish_text(output, prompt ? prompt : "");
}
