/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_hello.c - what a TLS client says before anything is encrypted
 *
 * First the records are walked until they hold the whole message, then a reader
 * goes through the message and steps over the records' headers by itself.
 */
#include "wire/client_hello.h"

#include <string.h>

#define RECORD_HEADER_BYTES 5
#define RECORD_MAX 16384
#define HANDSHAKE_HEADER_BYTES 4

#define RECORD_TYPE_FIRST 20 /* change cipher spec, alert, */
#define RECORD_TYPE_LAST 24  /* ... application data, heartbeat */
#define RECORD_HANDSHAKE 22
#define RECORD_MAJOR 3
#define RECORD_MAJOR_LIMIT 16 /* the laxest server's: below is "TLS" */

#define HANDSHAKE_CLIENT_HELLO 1
#define RANDOM_BYTES 32
#define SESSION_ID_MAX 32
#define VERSION_TLS13 0x0304

#define EXT_SERVER_NAME 0
#define EXT_ALPN 16
#define EXT_SUPPORTED_VERSIONS 43

#define SNI_HOST_NAME 0
#define NAME_BYTES_MAX (HOSTNAME_MAX + 1) /* with a dot at its end */

/* A part of the message; the whole of it is known to be there. */
struct reader {
	const uint8_t *pos;
	size_t record_left; /* until the next record's header */
	size_t left;        /* of this part */
	bool bad;           /* sticky: read behind the part's end */
};

static size_t record_len(const uint8_t *header)
{
	return (size_t)header[3] << 8 | header[4];
}

static void enter_record(struct reader *r)
{
	if (r->record_left == 0) {
		r->record_left = record_len(r->pos);
		r->pos += RECORD_HEADER_BYTES;
	}
}

static uint8_t read_u8(struct reader *r)
{
	if (r->left == 0) {
		r->bad = true;
		return 0;
	}
	enter_record(r);
	r->left--;
	r->record_left--;
	return *r->pos++;
}

static uint16_t read_u16(struct reader *r)
{
	uint16_t high = read_u8(r);

	return (uint16_t)(high << 8 | read_u8(r));
}

static void skip(struct reader *r, size_t len)
{
	if (len > r->left) {
		r->bad = true;
		len = r->left;
	}
	r->left -= len;
	while (len > 0) {
		size_t step;

		enter_record(r);
		step = len < r->record_left ? len : r->record_left;
		r->pos += step;
		r->record_left -= step;
		len -= step;
	}
}

/* The next len bytes as a part of their own; this one goes on behind them. */
static struct reader read_part(struct reader *r, size_t len)
{
	struct reader part = *r;

	part.left = len < r->left ? len : r->left;
	skip(r, len);
	return part;
}

/* Exactly one host name; anything else could be read in two ways. */
static const char *read_server_name(struct reader *r, struct client_hello *out)
{
	uint16_t list_len = read_u16(r);
	char name[NAME_BYTES_MAX];
	uint16_t len;

	if (list_len != r->left || read_u8(r) != SNI_HOST_NAME)
		return "malformed server name";
	len = read_u16(r);
	if (r->bad || len == 0 || len != r->left)
		return "malformed server name";
	out->sni = CLIENT_HELLO_SNI_BAD;
	if (len > sizeof(name))
		return NULL;
	for (size_t i = 0; i < len; i++)
		name[i] = (char)read_u8(r);
	if (hostname_canonical(name, len, out->name) > 0)
		out->sni = CLIENT_HELLO_SNI_NAME;
	return NULL;
}

static bool read_is(struct reader r, const char *text)
{
	if (r.left != strlen(text))
		return false;
	while (*text) {
		if (read_u8(&r) != (uint8_t)*text++)
			return false;
	}
	return true;
}

static const char *read_alpn(struct reader *r, struct client_hello *out)
{
	uint16_t list_len = read_u16(r);

	if (r->bad || list_len == 0 || list_len != r->left)
		return "malformed list of protocols";
	out->has_alpn = true;
	while (r->left > 0) {
		uint8_t len = read_u8(r);
		struct reader protocol = read_part(r, len);

		if (r->bad || len == 0)
			return "malformed list of protocols";
		out->offers_h2 |= read_is(protocol, "h2");
		out->offers_http1 |= read_is(protocol, "http/1.1");
	}
	return NULL;
}

static const char *read_versions(struct reader *r, struct client_hello *out)
{
	uint8_t list_len = read_u8(r);

	if (r->bad || list_len == 0 || list_len % 2 || list_len != r->left)
		return "malformed list of versions";
	while (r->left > 0) {
		uint16_t version = read_u16(r);

		/* Higher ones are GREASE, or do not exist. */
		if (version > out->version && version <= VERSION_TLS13)
			out->version = version;
	}
	return NULL;
}

/* The drafts count, too: some server may still understand them. */
static bool is_ech(uint16_t type)
{
	return (type >= 0xfe08 && type <= 0xfe0d) || type == 0xff02 ||
	       type == 0xffce;
}

static const char *read_extension(uint16_t type, struct reader *r,
				  struct client_hello *out)
{
	if (is_ech(type))
		out->has_ech = true;
	switch (type) {
	case EXT_SERVER_NAME:
		return read_server_name(r, out);
	case EXT_ALPN:
		return read_alpn(r, out);
	case EXT_SUPPORTED_VERSIONS:
		return read_versions(r, out);
	default:
		return NULL;
	}
}

static const char *read_extensions(struct reader *r, struct client_hello *out)
{
	uint16_t seen[CLIENT_HELLO_EXTENSIONS_MAX];
	size_t count = 0;

	while (r->left > 0) {
		uint16_t type = read_u16(r);
		struct reader body = read_part(r, read_u16(r));
		const char *problem;

		if (r->bad)
			return "malformed extensions";
		if (count == CLIENT_HELLO_EXTENSIONS_MAX)
			return "too many extensions";
		for (size_t i = 0; i < count; i++) {
			if (seen[i] == type)
				return "the same extension twice";
		}
		seen[count++] = type;
		problem = read_extension(type, &body, out);
		if (problem)
			return problem;
	}
	return NULL;
}

static const char *read_message(struct reader *r, struct client_hello *out)
{
	static const char malformed[] = "malformed ClientHello";
	uint16_t ciphers_len, extensions_len;
	uint8_t session_len, compression_len;

	out->version = read_u16(r);
	skip(r, RANDOM_BYTES);
	session_len = read_u8(r);
	skip(r, session_len);
	ciphers_len = read_u16(r);
	skip(r, ciphers_len);
	compression_len = read_u8(r);
	skip(r, compression_len);
	if (r->bad || session_len > SESSION_ID_MAX || ciphers_len == 0 ||
	    ciphers_len % 2 || compression_len == 0)
		return malformed;
	if (r->left == 0)
		return NULL;
	extensions_len = read_u16(r);
	if (r->bad || extensions_len != r->left)
		return malformed;
	return read_extensions(r, out);
}

static enum client_hello_result bad(struct client_hello *out,
				    const char *problem)
{
	out->problem = problem;
	return CLIENT_HELLO_BAD;
}

static enum client_hello_result more(struct client_hello *out, size_t need)
{
	out->need = need;
	return need > CLIENT_HELLO_MAX ? bad(out, "ClientHello too long")
				       : CLIENT_HELLO_MORE;
}

/* By the first two bytes of the input. DONE: go on. */
static enum client_hello_result look(const uint8_t *bytes, size_t len,
				     struct client_hello *out)
{
	if (len == 0)
		return more(out, 1);
	if (bytes[0] >= RECORD_TYPE_FIRST && bytes[0] <= RECORD_TYPE_LAST) {
		if (len == 1)
			return more(out, 2);
		if (bytes[1] < RECORD_MAJOR_LIMIT)
			return CLIENT_HELLO_DONE;
	}
	out->problem = "not TLS";
	return CLIENT_HELLO_NOT_TLS;
}

/* What a record of a hello must begin with; as far as it is there. */
static const char *check_header(const uint8_t *bytes, size_t len)
{
	if (len > 0 && bytes[0] != RECORD_HANDSHAKE)
		return "a record of another type before the ClientHello's end";
	if (len > 1 && bytes[1] != RECORD_MAJOR)
		return "unknown version of the record protocol";
	if (len < RECORD_HEADER_BYTES)
		return NULL;
	if (record_len(bytes) == 0 || record_len(bytes) > RECORD_MAX)
		return "a record of impossible length";
	return NULL;
}

static const char *read_length(const uint8_t *bytes, size_t *wanted)
{
	struct reader r = { .pos = bytes, .left = HANDSHAKE_HEADER_BYTES };
	uint8_t type = read_u8(&r);
	size_t len = (size_t)read_u8(&r) << 16;

	len |= read_u16(&r);
	*wanted = HANDSHAKE_HEADER_BYTES + len;
	if (type != HANDSHAKE_CLIENT_HELLO)
		return "another message than ClientHello";
	return *wanted > CLIENT_HELLO_MAX ? "ClientHello too long" : NULL;
}

/* DONE: the records hold the message and nothing else, out->len is set. */
static enum client_hello_result walk(const uint8_t *bytes, size_t len,
				     size_t *message_len,
				     struct client_hello *out)
{
	size_t wanted = 0, offset = 0, payload = 0;
	int records = 0;

	while (!wanted || payload < wanted) {
		size_t left = len - offset, size;
		const char *problem = check_header(bytes + offset, left);

		if (problem)
			return bad(out, problem);
		if (++records > CLIENT_HELLO_RECORDS_MAX)
			return bad(out, "ClientHello in too many records");
		if (left < RECORD_HEADER_BYTES)
			return more(out, offset + RECORD_HEADER_BYTES);
		size = record_len(bytes + offset);
		offset += RECORD_HEADER_BYTES + size;
		if (len < offset || offset > CLIENT_HELLO_MAX)
			return more(out, offset);
		payload += size;
		if (!wanted && payload >= HANDSHAKE_HEADER_BYTES)
			problem = read_length(bytes, &wanted);
		if (problem)
			return bad(out, problem);
	}
	if (payload > wanted)
		return bad(out, "bytes behind the ClientHello in its record");
	*message_len = wanted;
	out->len = offset;
	return CLIENT_HELLO_DONE;
}

enum client_hello_result client_hello_parse(const void *bytes, size_t len,
					    struct client_hello *out)
{
	struct reader r = { .pos = bytes };
	enum client_hello_result result;

	*out = (struct client_hello){ 0 };
	result = look(bytes, len, out);
	if (result == CLIENT_HELLO_DONE)
		result = walk(bytes, len, &r.left, out);
	if (result != CLIENT_HELLO_DONE)
		return result;
	skip(&r, HANDSHAKE_HEADER_BYTES);
	out->problem = read_message(&r, out);
	return out->problem ? CLIENT_HELLO_BAD : CLIENT_HELLO_DONE;
}
