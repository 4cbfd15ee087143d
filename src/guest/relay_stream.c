/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_stream.c - the bytes of the files port, both ways
 */
#include "guest/relay_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* So many bytes of a marker cannot be there by chance. */
#define MARKER_LIKELY 6

void stream_in_init(struct stream_in *in, size_t size)
{
	*in = (struct stream_in){ .bytes = xmalloc(size), .size = size };
}

void stream_in_release(struct stream_in *in)
{
	free(in->bytes);
}

void *stream_in_room(struct stream_in *in, size_t *left)
{
	if (in->done) {
		in->len -= in->done;
		memmove(in->bytes, in->bytes + in->done, in->len);
		in->done = 0;
	}
	*left = in->size - in->len;
	return in->bytes + in->len;
}

static void remember_tail(struct stream_in *in, const uint8_t *bytes,
			  size_t len)
{
	size_t keep = sizeof(in->tail);

	if (len < keep) {
		size_t old =
			in->tail_len < keep - len ? in->tail_len : keep - len;

		memmove(in->tail, in->tail + in->tail_len - old, old);
		memcpy(in->tail + old, bytes, len);
		in->tail_len = old + len;
		return;
	}
	memcpy(in->tail, bytes + len - keep, keep);
	in->tail_len = keep;
}

/* How many of the last bytes may be the beginning of this marker. */
static size_t count_likely(const struct stream_in *in,
			   const uint8_t marker[RECORD_MARKER_BYTES])
{
	const uint8_t *end = in->tail + in->tail_len;

	for (size_t len = in->tail_len; len >= MARKER_LIKELY; len--) {
		if (*(end - len) == marker[0] &&
		    !memcmp(end - len, marker, len))
			return len;
	}
	return 0;
}

bool stream_in_added(struct stream_in *in, size_t len,
		     const uint8_t (*markers)[RECORD_MARKER_BYTES],
		     unsigned marker_count)
{
	remember_tail(in, in->bytes + in->len, len);
	in->len += len;
	in->held = 0;
	for (unsigned i = 0; i < marker_count; i++) {
		size_t likely = count_likely(in, markers[i]);
		size_t have = in->len - in->done;

		/* It could fill up what its predecessor left half sent. */
		if (likely > in->held)
			in->held = likely < have ? likely : have;
		if (likely < RECORD_MARKER_BYTES)
			continue;
		in->len -= in->held;
		in->held = 0;
		return true;
	}
	if (in->deaf)
		in->len = in->done = in->held = 0;
	return false;
}

bool stream_in_next(struct stream_in *in, struct record *record,
		    const uint8_t **payload)
{
	const uint8_t *head = in->bytes + in->done;
	size_t have = in->len - in->done - in->held;

	if (in->deaf || have < RECORD_HEADER_BYTES)
		return false;
	if (record_decode(head, record) < 0) {
		in->deaf = true;
		return false;
	}
	if (have - RECORD_HEADER_BYTES < record->len)
		return false;
	*payload = head + RECORD_HEADER_BYTES;
	in->done += RECORD_HEADER_BYTES + record->len;
	return true;
}

void stream_in_hand_on(struct stream_in *in, struct stream_in *to)
{
	size_t rest = in->len - in->done;

	stream_in_reset(to);
	to->len = rest < to->size ? rest : to->size;
	to->held = in->held < to->len ? in->held : to->len;
	memcpy(to->bytes, in->bytes + in->done, to->len);
	memcpy(to->tail, in->tail, sizeof(to->tail));
	to->tail_len = in->tail_len;
	stream_in_reset(in);
}

void stream_in_reset(struct stream_in *in)
{
	in->len = in->done = in->held = in->tail_len = 0;
	in->deaf = false;
}

/* In its place among the other stores: we may be killed between any two. */
static void be_unsure(struct stream_out *out, bool unsure)
{
	__atomic_store_n(&out->unsure, unsure, __ATOMIC_SEQ_CST);
}

uint8_t *stream_out_room(struct stream_out *out)
{
	if (STREAM_OUT_BYTES - out->end >= STREAM_RECORD_MAX)
		return out->bytes + out->end;
	if (out->start < STREAM_RECORD_MAX)
		return NULL;
	be_unsure(out, true);
	memmove(out->bytes, out->bytes + out->start, out->end - out->start);
	out->end -= out->start;
	out->boundary -= out->start;
	out->start = 0;
	be_unsure(out, false);
	return STREAM_OUT_BYTES - out->end >= STREAM_RECORD_MAX
		       ? out->bytes + out->end
		       : NULL;
}

void stream_out_commit(struct stream_out *out, unsigned type, unsigned share,
		       size_t len)
{
	struct record record = { .len = (uint32_t)len,
				 .type = (uint8_t)type,
				 .share = (uint8_t)share };

	record_encode(&record, out->bytes + out->end);
	out->end += RECORD_HEADER_BYTES + len;
}

void stream_out_sent(struct stream_out *out, size_t len)
{
	struct record record;

	out->start += len;
	while (out->boundary < out->start) {
		if (record_decode(out->bytes + out->boundary, &record) < 0)
			break; /* our own bytes: cannot be */
		out->boundary += RECORD_HEADER_BYTES + record.len;
	}
	if (out->start == out->end)
		out->start = out->end = out->boundary = 0;
	be_unsure(out, false);
}

size_t stream_out_piece(struct stream_out *out)
{
	size_t end = out->boundary;
	struct record record;

	while (end < out->end &&
	       record_decode(out->bytes + end, &record) == 0 &&
	       end + RECORD_HEADER_BYTES + record.len - out->start <=
		       STREAM_PIECE_BYTES)
		end += RECORD_HEADER_BYTES + record.len;
	if (end == out->start)
		end = out->end;
	be_unsure(out, true);
	return end - out->start < STREAM_PIECE_BYTES ? end - out->start
						     : STREAM_PIECE_BYTES;
}

static void cut(struct stream_out *out)
{
	if (out->start > out->end || out->boundary < out->start ||
	    out->boundary > out->end || out->end > STREAM_OUT_BYTES)
		out->start = out->end = out->boundary = 0;
	out->end = out->boundary - out->start;
	memmove(out->bytes, out->bytes + out->start, out->end);
	out->start = 0;
}

void stream_out_break(struct stream_out *out, const void *bytes, size_t len)
{
	/* Unsure: more than any record, or the server waits for its rest. */
	size_t run = out->unsure ? STREAM_RECORD_MAX : RECORD_HEADER_BYTES;

	be_unsure(out, true);
	cut(out);
	/* What others wanted to send like this, and could not, is as good. */
	if (out->end + run + len > STREAM_OUT_BYTES)
		out->end = 0;
	memset(out->bytes + out->end, 0xff, run);
	memcpy(out->bytes + out->end + run, bytes, len);
	out->end += run + len;
	out->boundary = out->end;
	be_unsure(out, false);
}

void stream_out_raw(struct stream_out *out, const void *bytes, size_t len)
{
	memcpy(out->bytes, bytes, len);
	out->start = 0;
	out->end = out->boundary = len;
}
