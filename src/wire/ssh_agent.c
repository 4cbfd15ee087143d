/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_agent.c - the protocol of ssh-agent, as far as a sandbox may speak it
 */
#include "wire/ssh_agent.h"

#include <string.h>

#include "base/buffer.h"
#include "wire/big_endian.h"

enum type {
	TYPE_FAILURE = 5,
	TYPE_LIST = 11,
	TYPE_KEYS = 12,
	TYPE_SIGN = 13,
	TYPE_SIGNATURE = 14,
};

const uint8_t ssh_agent_question[5] = { 0, 0, 0, 1, TYPE_LIST };
const uint8_t ssh_agent_failure[5] = { 0, 0, 0, 1, TYPE_FAILURE };

uint32_t ssh_agent_length(const uint8_t head[SSH_AGENT_HEAD])
{
	struct cursor c = cursor_over(head, SSH_AGENT_HEAD);
	uint32_t len = cursor_be32(&c);

	return len <= SSH_AGENT_MESSAGE_MAX ? len : 0;
}

/* A length and so many bytes; NULL past the end. */
static const uint8_t *take_string(struct cursor *c, uint32_t *len)
{
	*len = cursor_be32(c);
	return cursor_bytes(c, *len);
}

const struct ssh_key *ssh_agent_find(const struct ssh_keys *keys,
				     const void *blob, size_t len)
{
	for (size_t i = 0; i < keys->count; i++) {
		const struct ssh_key *key = &keys->list[i];

		if (key->len == len && len && !memcmp(key->blob, blob, len))
			return key;
	}
	return NULL;
}

enum ssh_agent_request ssh_agent_request(const struct ssh_keys *allowed,
					 const void *message, size_t len)
{
	struct cursor c = cursor_over(message, len);
	uint8_t type = cursor_u8(&c);
	const uint8_t *blob;
	uint32_t blob_len, data_len;

	if (type == TYPE_LIST)
		return cursor_done(&c) ? SSH_AGENT_LIST : SSH_AGENT_REFUSED;
	if (type != TYPE_SIGN)
		return SSH_AGENT_REFUSED;
	blob = take_string(&c, &blob_len);
	take_string(&c, &data_len);
	cursor_be32(&c); /* flags: which hash */
	if (!cursor_done(&c) || !ssh_agent_find(allowed, blob, blob_len))
		return SSH_AGENT_REFUSED;
	return SSH_AGENT_SIGN;
}

int ssh_agent_parse_keys(const void *message, size_t len, struct ssh_keys *keys)
{
	struct cursor c = cursor_over(message, len);
	uint8_t type = cursor_u8(&c);
	uint32_t count = cursor_be32(&c);

	keys->count = 0;
	if (c.bad || type != TYPE_KEYS || count > SSH_AGENT_KEYS_MAX)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		struct ssh_key *key = &keys->list[i];

		key->blob = take_string(&c, &key->len);
		key->comment = take_string(&c, &key->comment_len);
	}
	if (!cursor_done(&c))
		return -1;
	keys->count = count;
	return 0;
}

bool ssh_agent_is_signature(const void *message, size_t len)
{
	struct cursor c = cursor_over(message, len);
	uint8_t type = cursor_u8(&c);
	uint32_t size;

	take_string(&c, &size);
	return type == TYPE_SIGNATURE && cursor_done(&c);
}

void ssh_agent_keep(struct ssh_keys *keys, const struct ssh_keys *allowed)
{
	size_t kept = 0;

	for (size_t i = 0; i < keys->count; i++) {
		if (ssh_agent_find(allowed, keys->list[i].blob,
				   keys->list[i].len))
			keys->list[kept++] = keys->list[i];
	}
	keys->count = kept;
}

static int append_be32(struct buffer *out, size_t value)
{
	uint8_t bytes[4];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_be32(&w, (uint32_t)value);
	return buffer_append(out, bytes, sizeof(bytes));
}

static int append_string(struct buffer *out, const void *bytes, uint32_t len)
{
	if (append_be32(out, len) < 0)
		return -1;
	return len ? buffer_append(out, bytes, len) : 0;
}

int ssh_agent_encode_keys(const struct ssh_keys *keys, struct buffer *out)
{
	static const uint8_t type = TYPE_KEYS;
	size_t len = 1 + 4;
	int failed;

	for (size_t i = 0; i < keys->count; i++)
		len += 8 + keys->list[i].len + keys->list[i].comment_len;
	if (len > SSH_AGENT_MESSAGE_MAX)
		return -1;
	failed = append_be32(out, len) < 0 ||
		 buffer_append(out, &type, 1) < 0 ||
		 append_be32(out, keys->count) < 0;
	for (size_t i = 0; i < keys->count && !failed; i++) {
		const struct ssh_key *key = &keys->list[i];

		failed = append_string(out, key->blob, key->len) < 0 ||
			 append_string(out, key->comment, key->comment_len) < 0;
	}
	return failed ? -1 : 0;
}
