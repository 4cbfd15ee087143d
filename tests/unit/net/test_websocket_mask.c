/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_websocket_mask.c - unit tests of net/websocket_mask.h
 */
#include "net/websocket_mask.h"

#include <string.h>

#include "base/own.h"
#include "lib/tap.h"

static const char short_value[] = "sk-secret";
static const char long_value[] = "secret-0123456789abcdefg";
static const char *value = short_value;

AUTO_DEFINE(forms, struct mask_forms *, mask_forms_free)

static struct {
	uint8_t bytes[4096];
	size_t len;
	const char *problem;
} got;

/* All of it, at most `piece` bytes at a time. */
static void pass(const void *bytes, size_t len, size_t piece)
{
	AUTO(forms)
	struct mask_forms *forms = mask_forms_new(value, strlen(value), NULL);
	struct websocket_mask self;
	struct mask mask;
	size_t begin = 0, end = 0;

	REQUIRE(forms);
	mask_init(&mask);
	mask_add(&mask, forms);
	websocket_mask_init(&self, &mask);
	memset(&got, 0, sizeof(got));
	while (begin < len) {
		uint8_t out[4096];
		struct websocket_piece part;

		end = end < len ? end + piece : end;
		end = end < len ? end : len;
		if (websocket_mask_step(&self, (const uint8_t *)bytes + begin,
					end - begin, out, &part) < 0) {
			got.problem = part.problem;
			break;
		}
		REQUIRE(got.len + part.len <= sizeof(got.bytes));
		memcpy(got.bytes + got.len, out, part.len);
		got.len += part.len;
		begin += part.taken;
		if (!part.taken && end == len)
			break;
	}
	websocket_mask_release(&self);
}

#define BYTES(text) (text), sizeof(text) - 1

static void check(const char *in, size_t in_len, const char *want,
		  size_t want_len)
{
	for (size_t piece = 1; piece <= in_len; piece++) {
		pass(in, in_len, piece);
		CHECK(!got.problem);
		CHECK(got.len == want_len &&
		      memcmp(got.bytes, want, want_len) == 0);
	}
}

static void a_message_of_one_frame_keeps_its_form(void)
{
	check(BYTES("\x81\x05hello\x82\x00\x8a\x01x"),
	      BYTES("\x81\x05hello\x82\x00\x8a\x01x"));
	check(BYTES("\x81\x0b<sk-secret>"), BYTES("\x81\x0b<*********>"));
	check(BYTES("\x82\x09sk-secret\x81\x02sk"),
	      BYTES("\x82\x09*********\x81\x02sk"));
}

static void control_frames_are_masked_too(void)
{
	check(BYTES("\x89\x0a-sk-secret\x88\x0b\x03\xe8sk-secret"),
	      BYTES("\x89\x0a-*********\x88\x0b\x03\xe8*********"));
}

/* The payload of all data frames; FIN only at the end of each message. */
static void join(char *out, size_t size)
{
	size_t at = 0, len = 0;

	while (at < got.len) {
		struct websocket_frame frame;
		const char *problem;
		int head = websocket_parse(got.bytes + at, got.len - at, &frame,
					   &problem);

		REQUIRE(head > 0 &&
			frame.length <= got.len - at - (size_t)head);
		at += (size_t)head;
		if (!websocket_is_control(&frame)) {
			REQUIRE(len + frame.length + 2 < size);
			memcpy(out + len, got.bytes + at, frame.length);
			len += frame.length;
			if (frame.last)
				out[len++] = '|';
		}
		at += frame.length;
	}
	out[len] = '\0';
}

static void a_secret_in_several_frames_is_found(void)
{
	static const char in[] = "\x01\x04<sk-"
				 "\x00\x00"
				 "\x89\x01p"
				 "\x00\x03sec"
				 "\x80\x04ret>"
				 "\x81\x03sk-"
				 "\x01\x02sk\x80\x00";
	char text[256];

	for (size_t piece = 1; piece < sizeof(in); piece++) {
		pass(BYTES(in), piece);
		CHECK(!got.problem);
		join(text, sizeof(text));
		CHECK(strcmp(text, "<*********>|sk-|sk|") == 0);
		CHECK(got.bytes[0] == 0x01); /* text, and not its last frame */
		CHECK(memmem(got.bytes, got.len, "\x89\x01p", 3));
	}
}

/* Each message leaves when it ends, and says less than half of the secret. */
static void a_secret_in_several_messages_is_found(void)
{
	value = long_value;
	/* 14 of 24, and the rest; then it is said as a whole. */
	check(BYTES("\x81\x0f"
		    "asecret-0123456"
		    "\x89\1s"
		    "\x82\x0b"
		    "789abcdefgz"
		    "\x81\x18"
		    "secret-0123456789abcdefg"),
	      BYTES("\x81\x0f"
		    "a**************"
		    "\x89\1s"
		    "\x82\x0b"
		    "**********z"
		    "\x81\x18"
		    "************************"));
	value = short_value;
}

static void a_secret_byte_by_byte_is_not_told(void)
{
	char in[3 * sizeof(long_value)] = "";
	char want[3 * sizeof(long_value)] = "";
	size_t len = strlen(long_value);

	for (size_t i = 0; i < len; i++) {
		memcpy(in + 3 * i, "\x81\1", 2);
		in[3 * i + 2] = long_value[i];
	}
	memcpy(want, in, 3 * len);
	for (size_t i = 11; i < len; i++)
		want[3 * i + 2] = '*';
	value = long_value;
	check(in, 3 * len, want, 3 * len);
	value = short_value;
}

/* What looked like one and was none stays as it is. */
static void a_begin_that_goes_on_as_something_else_passes(void)
{
	check(BYTES("\x81\5"
		    "sk-se"
		    "\x81\6"
		    "crypt."
		    "\x81\2"
		    "sk"
		    "\x81\x9"
		    "sk-secret"),
	      BYTES("\x81\5"
		    "sk-se"
		    "\x81\6"
		    "crypt."
		    "\x81\2"
		    "sk"
		    "\x81\x9"
		    "*********"));
}

static void what_is_no_websocket_ends_it(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ BYTES("HTTP/1.1 200 OK\r\n\r\nsk-secret") },
		{ BYTES("\xc1\x01x") },
		{ BYTES("\x80\x01x") },          /* continues nothing */
		{ BYTES("\x01\x01x\x81\x01y") }, /* inside another */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pass(rows[i].bytes, rows[i].len, rows[i].len);
		CHECK(got.problem != NULL);
		CHECK(!memmem(got.bytes, got.len, value, strlen(value)));
	}
}

int main(void)
{
	RUN(a_message_of_one_frame_keeps_its_form);
	RUN(control_frames_are_masked_too);
	RUN(a_secret_in_several_frames_is_found);
	RUN(a_secret_in_several_messages_is_found);
	RUN(a_secret_byte_by_byte_is_not_told);
	RUN(a_begin_that_goes_on_as_something_else_passes);
	RUN(what_is_no_websocket_ends_it);
	return DONE();
}
