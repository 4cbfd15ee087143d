/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_keys_parse.c - how keys are named
 */
#include "cli/ssh_keys.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "oci/base64.h"
#include "state/digest.h"
#include "wire/big_endian.h"
#include "wire/ssh_agent.h"

#define FINGERPRINT "SHA256:"
#define DIGEST_BYTES ((DIGEST_HEX - 1) / 2)

int ssh_keys_parse_line(const char *text, size_t len,
			unsigned char blob[SSH_KEY_BLOB_MAX])
{
	const char *end = memchr(text, '\n', len);
	const char *blank, *rest;
	struct cursor c;
	const void *type;
	size_t size;
	ssize_t got;

	if (end)
		len = (size_t)(end - text);
	blank = memchr(text, ' ', len);
	if (!blank || blank == text)
		return -1;
	size = (size_t)(blank - text);
	rest = blank + 1;
	len -= size + 1;
	blank = memchr(rest, ' ', len);
	if (blank)
		len = (size_t)(blank - rest);
	while (len && rest[len - 1] == '\r')
		len--;
	got = base64_read(rest, len, blob, SSH_KEY_BLOB_MAX);
	if (got <= 0)
		return -1;
	/* It says inside what kind it is. */
	c = cursor_over(blob, (size_t)got);
	if (cursor_be32(&c) != size)
		return -1;
	type = cursor_bytes(&c, size);
	return type && !memcmp(type, text, size) ? (int)got : -1;
}

static bool has_fingerprint(const struct ssh_key *key, const char *wanted)
{
	unsigned char bytes[DIGEST_BYTES];
	char hex[DIGEST_HEX], own[DIGEST_HEX];

	if (base64_read(wanted, strlen(wanted), bytes, sizeof(bytes)) !=
	    (ssize_t)sizeof(bytes))
		return false;
	text_hex(bytes, sizeof(bytes), hex);
	digest_bytes(key->blob, key->len, own);
	return !strcmp(hex, own);
}

static bool is_called(const struct ssh_key *key, const char *word)
{
	if (text_starts(word, FINGERPRINT) &&
	    has_fingerprint(key, word + strlen(FINGERPRINT)))
		return true;
	return key->comment_len == strlen(word) &&
	       !memcmp(key->comment, word, strlen(word));
}

const struct ssh_key *ssh_keys_find(const struct ssh_keys *keys,
				    const char *word, struct error *err)
{
	const struct ssh_key *found = NULL;

	if (!*word)
		return NULL;
	for (size_t i = 0; i < keys->count; i++) {
		if (!is_called(&keys->list[i], word))
			continue;
		if (found) {
			error_set(err, EEXIST,
				  "more than one key is called %s (give its "
				  "fingerprint, as `ssh-add -l` shows it)",
				  word);
			return NULL;
		}
		found = &keys->list[i];
	}
	return found;
}
