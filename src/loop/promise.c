/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise.c - what an agent's last message promises
 */
#include "loop/promise.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define OPEN "<promise>"
#define CLOSE "</promise>"
#define FENCE_MIN 3
#define FENCE_INDENT_MAX 3

static const char *const names[] = { "", "complete", "abort", "blocked",
				     "decide" };
static_assert(ARRAY_SIZE(names) == PROMISE_KINDS, "a name for each kind");

const char *promise_name(enum promise_kind kind)
{
	return names[kind];
}

struct fence {
	char mark; /* '\0' outside */
	size_t len;
};

/* How many of one mark a line begins with, after its indent. */
static size_t fence_run(const char *line, size_t len, char *mark, size_t *end)
{
	size_t at = 0, start;

	while (at < len && line[at] == ' ' && at < FENCE_INDENT_MAX)
		at++;
	start = at;
	if (at == len || (line[at] != '`' && line[at] != '~'))
		return 0;
	*mark = line[at];
	while (at < len && line[at] == *mark)
		at++;
	*end = at;
	return at - start;
}

/* True when the line opens, closes or lies in a fence. */
static bool fenced(struct fence *fence, const char *line, size_t len)
{
	char mark = '\0';
	size_t end = 0, run = fence_run(line, len, &mark, &end);

	if (fence->mark) {
		while (end < len && isspace((unsigned char)line[end]))
			end++;
		if (run >= fence->len && mark == fence->mark && end == len)
			fence->mark = '\0';
		return true;
	}
	if (run < FENCE_MIN)
		return false;
	/* "```a```" is a span in a line, no fence */
	if (mark == '`' && memchr(line + end, '`', len - end))
		return false;
	*fence = (struct fence){ mark, run };
	return true;
}

static size_t backticks(const char *line, size_t len)
{
	size_t n = 0;

	while (n < len && line[n] == '`')
		n++;
	return n;
}

/* Where the span that begins with `run` backticks ends; 0: nowhere. */
static size_t span_end(const char *line, size_t len, size_t run)
{
	size_t at = run;

	while (at < len) {
		size_t n = backticks(line + at, len - at);

		if (n == run)
			return at + n;
		at += n ? n : 1;
	}
	return 0;
}

/* Copies a line without its code spans. */
static size_t visible_line(const char *line, size_t len, char *out)
{
	size_t put = 0;

	for (size_t at = 0; at < len;) {
		size_t run = backticks(line + at, len - at), end = 0;

		if (run)
			end = span_end(line + at, len - at, run);
		if (end) {
			/* what it stood between does not grow together */
			out[put++] = '`';
			at += end;
			continue;
		}
		out[put++] = line[at++];
	}
	return put;
}

/* The text without code, which is never longer than it. */
static size_t visible(const char *text, size_t len, char *out)
{
	struct fence fence = { 0 };
	size_t put = 0;

	while (len) {
		const char *feed = memchr(text, '\n', len);
		size_t line = feed ? (size_t)(feed - text) : len;

		if (!fenced(&fence, text, line))
			put += visible_line(text, line, out + put);
		if (feed)
			out[put++] = '\n';
		text += line + (feed ? 1 : 0);
		len -= line + (feed ? 1 : 0);
	}
	return put;
}

/* Only space and emphasis may follow on the line. */
static bool ends_line(const char *at, const char *end)
{
	for (; at < end && *at != '\n'; at++)
		if (!strchr(" \t\r*_", *at))
			return false;
	return true;
}

static bool is_word(const char *at, size_t len, const char *word)
{
	return word && strlen(word) == len && !memcmp(at, word, len);
}

static bool is_id(const char *at, size_t len)
{
	if (!len || len > PROMISE_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)at[i]) && !strchr("._-#", at[i]))
			return false;
	return memchr(at, '\0', len) == NULL;
}

static void note_done(struct promises *promises, const char *id, size_t len)
{
	char *slot;

	if (!is_id(id, len) || promises->done_count == PROMISE_TASKS_MAX)
		return;
	slot = promises->done[promises->done_count++];
	memcpy(slot, id, len);
	slot[len] = '\0';
}

static void take_kind(struct promises *promises, enum promise_kind kind,
		      const char *text, size_t len)
{
	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	promises->kind = kind;
	text_printable(text, len, promises->text, sizeof(promises->text));
}

static void take_tag(struct promises *promises, const char *at, size_t len,
		     const struct promise_words *words)
{
	static const char blocked[] = "BLOCKED", decide[] = "DECIDE";
	static const char done[] = ":DONE";
	const char *colon;
	size_t head;

	while (len && isspace((unsigned char)*at)) {
		at++;
		len--;
	}
	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	colon = memchr(at, ':', len);
	head = colon ? (size_t)(colon - at) : len;
	if (is_word(at, len, words->complete))
		take_kind(promises, PROMISE_COMPLETE, "", 0);
	else if (is_word(at, len, words->abort))
		take_kind(promises, PROMISE_ABORT, "", 0);
	else if (is_word(at, len, words->task))
		promises->task = true;
	else if (is_word(at, head, blocked))
		take_kind(promises, PROMISE_BLOCKED, at + head + !!colon,
			  len - head - !!colon);
	else if (is_word(at, head, decide))
		take_kind(promises, PROMISE_DECIDE, at + head + !!colon,
			  len - head - !!colon);
	else if (len > strlen(done) &&
		 !memcmp(at + len - strlen(done), done, strlen(done)))
		note_done(promises, at, len - strlen(done));
}

/* What follows the last tag that opens before `close`; NULL: none does. */
static const char *last_open(const char *at, const char *close)
{
	const char *inner = NULL;

	while ((at = memmem(at, (size_t)(close - at), OPEN, strlen(OPEN)))) {
		at += strlen(OPEN);
		inner = at;
	}
	return inner;
}

void promises_parse(const char *text, size_t len,
		    const struct promise_words *words,
		    struct promises *promises)
{
	AUTO_FREE char *seen = xmalloc(len + 1);
	const char *at = seen, *end;

	*promises = (struct promises){ .kind = PROMISE_NONE };
	end = seen + visible(text, len, seen);
	while (at < end) {
		const char *close =
			memmem(at, (size_t)(end - at), CLOSE, strlen(CLOSE));
		const char *inner, *next;

		if (!close)
			return;
		next = close + strlen(CLOSE);
		/* a tag that was never closed swallows no later one */
		inner = last_open(at, close);
		if (inner && ends_line(next, end))
			take_tag(promises, inner, (size_t)(close - inner),
				 words);
		at = next;
	}
}
