/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_path.c - requests for a part of an image, and where they are sent on to
 */
#include "wire/blob_path.h"

#include "wire/http_fields.h"

#define PREFIX "/v2/"
#define MIDDLE "/blobs/sha256:"
#define SCHEME "https://"
#define NAME_MAX_BYTES 255 /* as registries have it */
#define PORT_HTTPS 443

static bool starts(struct span text, const char *with)
{
	size_t len = strlen(with);

	return text.len >= len && memcmp(text.bytes, with, len) == 0;
}

static struct span without(struct span text, size_t len)
{
	return span_over(text.bytes + len, text.len - len);
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Parts begin and end with a letter or digit: so none is "..". */
static bool is_name(struct span name)
{
	char before = '/';

	if (!name.len || name.len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.bytes[i];
		bool inside = c == '.' || c == '_' || c == '-' || c == '/';

		if (!is_alphanumeric(c) && !inside)
			return false;
		if (before == '/' && inside)
			return false;
		if (c == '/' && !is_alphanumeric(before))
			return false;
		before = c;
	}
	return is_alphanumeric(before);
}

static bool is_hex(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.bytes[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
	}
	return text.len == BLOB_HEX - 1;
}

int blob_path_parse(struct span path, char hex[BLOB_HEX])
{
	const size_t tail = strlen(MIDDLE) + BLOB_HEX - 1;
	struct span name, digest;

	if (!starts(path, PREFIX) || path.len < strlen(PREFIX) + tail)
		return -1;
	name = without(path, strlen(PREFIX));
	name.len -= tail;
	digest = without(path, path.len - tail);
	if (!is_name(name) || !starts(digest, MIDDLE))
		return -1;
	digest = without(digest, strlen(MIDDLE));
	if (!is_hex(digest))
		return -1;
	memcpy(hex, digest.bytes, digest.len);
	hex[digest.len] = '\0';
	return 0;
}

static bool contains(struct span text, const char *part)
{
	return text.len && memmem(text.bytes, text.len, part, strlen(part));
}

bool blob_path_is_pull(struct span path)
{
	return starts(path, PREFIX) &&
	       (path.len == strlen(PREFIX) || contains(path, "/manifests/") ||
		contains(path, "/blobs/"));
}

int blob_redirect_parse(struct span location, const char hex[BLOB_HEX],
			struct blob_redirect *out)
{
	struct span rest, path;
	const char *slash, *query;

	*out = (struct blob_redirect){ .target = { NULL, 0 } };
	if (!starts(location, SCHEME) || !http_is_target(location))
		return -1;
	rest = without(location, strlen(SCHEME));
	slash = rest.len ? memchr(rest.bytes, '/', rest.len) : NULL;
	if (!slash || authority_parse(rest.bytes, (size_t)(slash - rest.bytes),
				      &out->host) < 0)
		return -1;
	if (!out->host.port)
		out->host.port = PORT_HTTPS;
	out->target = without(rest, (size_t)(slash - rest.bytes));
	query = memchr(out->target.bytes, '?', out->target.len);
	path = query ? span_over(out->target.bytes,
				 (size_t)(query - out->target.bytes))
		     : out->target;
	return contains(path, hex) && !starts(path, PREFIX) ? 0 : -1;
}
