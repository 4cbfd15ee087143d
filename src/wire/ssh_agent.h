/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_agent.h - the protocol of ssh-agent, as far as a sandbox may speak it
 *
 * Each message is a length and so many bytes, of which the first is its type.
 * Two requests exist here: which keys there are, and a signature with one of
 * them. All others (add, remove, lock, extensions) are refused unread. Pure,
 * but for the buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define SSH_AGENT_HEAD 4 /* bytes of the length */
#define SSH_AGENT_MESSAGE_MAX (256u * 1024)
#define SSH_AGENT_KEYS_MAX 256

/* A frame each: what there is to say. */
extern const uint8_t ssh_agent_question[5];
extern const uint8_t ssh_agent_failure[5];

struct ssh_key {
	const uint8_t *blob, *comment; /* borrowed from the message */
	uint32_t len, comment_len;
};

struct ssh_keys {
	struct ssh_key list[SSH_AGENT_KEYS_MAX];
	size_t count;
};

enum ssh_agent_request {
	SSH_AGENT_REFUSED,
	SSH_AGENT_LIST,
	SSH_AGENT_SIGN, /* with one of the keys */
};

/*
 * Length of the message that a head announces; 0 when it is none that is taken:
 * empty or too long.
 */
uint32_t ssh_agent_length(const uint8_t head[SSH_AGENT_HEAD]);
/* What is asked for; message without its head. */
enum ssh_agent_request ssh_agent_request(const struct ssh_keys *allowed,
					 const void *message, size_t len);
/* The answer to a list; -1 when it is malformed. */
int ssh_agent_parse_keys(const void *message, size_t len,
			 struct ssh_keys *keys);
bool ssh_agent_is_signature(const void *message, size_t len);

const struct ssh_key *ssh_agent_find(const struct ssh_keys *keys,
				     const void *blob, size_t len);
/* Only what is in allowed too stays. */
void ssh_agent_keep(struct ssh_keys *keys, const struct ssh_keys *allowed);
/* Appends the answer with these keys, with its head; -1 when it is too long. */
int ssh_agent_encode_keys(const struct ssh_keys *keys, struct buffer *out);
