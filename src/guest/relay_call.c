/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_call.c - a relay that knows no marker asks the server for it
 */
#include <sys/random.h>
#include <unistd.h>

#include "guest/relay_internal.h"

/*
 * The server is in the middle of a talk that makes no sense any more, mostly
 * with somebody who is dead. It gets the end of the record that was under way,
 * then something that is none: it ends, and the next one begins with a marker.
 * If it has done so already, it waits for the echo and answers the call.
 */
void relay_call_begin(struct relay *relay)
{
	uint8_t word[CALL_WORD_BYTES], bytes[CALL_BYTES];

	if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
		_exit(1); /* cannot be; PID 1 starts another */
	call_begin(&relay->call, word);
	call_encode(&relay->call, bytes);
	stream_out_break(&relay->shared->out, bytes, sizeof(bytes));
	relay_rings_reset(relay);
	stream_in_reset(&relay->in);
	relay->in.deaf = true;
	relay->calling = true;
	relay->connected = false;
	relay->urgent = true;
}

/*
 * Whatever comes and is no answer may be the marker of a server that has come
 * too late to hear the call.
 */
bool relay_call_answered(struct relay *relay, const uint8_t *bytes, size_t len,
			 uint8_t marker[RECORD_MARKER_BYTES])
{
	if (call_answered(&relay->call, bytes, len, marker))
		return true;
	relay->call_due = true;
	return false;
}

/* What still waits for the port ends in a call. */
void relay_call_again(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;
	uint8_t bytes[CALL_BYTES];

	relay->call_due = false;
	if (out->start != out->end)
		return;
	call_encode(&relay->call, bytes);
	stream_out_raw(out, bytes, sizeof(bytes));
	relay->urgent = true;
}
