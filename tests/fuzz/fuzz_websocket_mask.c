/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_websocket_mask.c - what a server says by WebSocket, in any pieces: what
 * leaves is WebSocket, no message has the secret, and the pieces make no
 * difference to the messages
 */
#include "net/websocket_mask.h"

#include <string.h>

#include "base/mem.h"
#include "lib/fuzz.h"

#define VALUE "sk-a/b"

struct text {
	uint8_t *bytes;
	size_t len, size;
};

static void put(struct text *text, const void *bytes, size_t len)
{
	FUZZ_CHECK(len <= text->size - text->len);
	if (len)
		memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
}

/* Every frame that leaves has less of a head than 8 bytes for each taken. */
static void pass(const struct mask_forms *forms, const uint8_t *data,
		 size_t size, size_t piece, struct text *out)
{
	struct websocket_mask self;
	struct websocket_piece part;
	struct mask mask;
	size_t begin = 0, end = 0;

	mask_init(&mask);
	mask_add(&mask, forms);
	websocket_mask_init(&self, &mask);
	while (begin < size) {
		size_t room = self.mask.held_len + WEBSOCKET_MASK_ROOM;
		uint8_t *step;
		int result;

		end = size - end > piece ? end + piece : size;
		/* Exactly what was promised, so that one more is noticed. */
		room += end - begin;
		step = xmalloc(room);
		result = websocket_mask_step(&self, data + begin, end - begin,
					     step, &part);
		FUZZ_CHECK(result < 0 || part.len <= room);
		if (result == 0)
			put(out, step, part.len);
		free(step);
		begin += part.taken;
		if (result < 0 || (!part.taken && end == size))
			break;
	}
	websocket_mask_release(&self);
}

/* The messages that are whole, each with an end. */
static void join(const struct text *frames, struct text *out)
{
	size_t at = 0, whole = 0, begin = 0;

	for (;;) {
		struct websocket_frame frame;
		const char *problem;
		int head = websocket_parse(frames->bytes + at, frames->len - at,
					   &frame, &problem);

		FUZZ_CHECK(head >= 0);
		at += (size_t)head;
		if (head == 0 || frame.length > frames->len - at)
			break;
		if (!websocket_is_control(&frame)) {
			put(out, frames->bytes + at, frame.length);
			if (frame.last) {
				FUZZ_CHECK(!memmem(out->bytes + begin,
						   out->len - begin, VALUE,
						   strlen(VALUE)));
				put(out, "|", 1);
				begin = whole = out->len;
			}
		}
		at += frame.length;
	}
	out->len = whole;
}

static struct text text_new(size_t size)
{
	return (struct text){ .bytes = xmalloc(size), .size = size };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mask_forms *forms;
	struct text first, second, one, other;
	size_t piece;

	if (size < 2)
		return 0;
	piece = data[0] % 16 + 1;
	data++;
	size--;
	forms = mask_forms_new(VALUE, strlen(VALUE), NULL);
	FUZZ_CHECK(forms);
	first = text_new(size * 8 + 16);
	second = text_new(size * 8 + 16);
	one = text_new(size * 8 + 16);
	other = text_new(size * 8 + 16);
	pass(forms, data, size, size, &first);
	pass(forms, data, size, piece, &second);
	join(&first, &one);
	join(&second, &other);
	FUZZ_CHECK(one.len == other.len &&
		   memcmp(one.bytes, other.bytes, one.len) == 0);
	free(first.bytes);
	free(second.bytes);
	free(one.bytes);
	free(other.bytes);
	mask_forms_free(forms);
	return 0;
}
