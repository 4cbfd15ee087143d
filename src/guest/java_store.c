/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java_store.c - a list of authorities in the form that Java reads (JKS)
 */
#include "guest/java_store.h"

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/text.h"

#define MAGIC 0xfeedfeedu
#define VERSION 2u
#define TRUSTED 2u /* an entry with a certificate and no key */
#define HEADER_BYTES 12u
#define COUNT_AT 8u
#define ALIAS "bawn-sandbox"

static const char begin_line[] = "-----BEGIN CERTIFICATE-----";
static const char end_line[] = "-----END CERTIFICATE-----";

/* Before the data, in the hash: "changeit" as UTF-16, and a greeting. */
static const char salt[] = "\0c\0h\0a\0n\0g\0e\0i\0t"
			   "Mighty Aphrodite";

static int put(struct buffer *out, const void *bytes, size_t len)
{
	return buffer_append(out, bytes, len);
}

static int put_number(struct buffer *out, uint64_t value, unsigned bytes)
{
	uint8_t text[8];

	for (unsigned i = 0; i < bytes; i++)
		text[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
	return put(out, text, bytes);
}

static int put_text(struct buffer *out, const char *text)
{
	size_t len = strlen(text);

	return put_number(out, len, 2) < 0 ? -1 : put(out, text, len);
}

static int put_entry(struct buffer *out, const char *alias, const uint8_t *der,
		     size_t len)
{
	return put_number(out, TRUSTED, 4) < 0 || put_text(out, alias) < 0 ||
			       put_number(out, 0, 8) < 0 || /* its date */
			       put_text(out, "X.509") < 0 ||
			       put_number(out, len, 4) < 0 ||
			       put(out, der, len) < 0
		       ? -1
		       : 0;
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c)
{
	return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* How many bytes; -1: it is not base64, or too long. */
static ssize_t decode(const char *text, size_t len,
		      uint8_t out[JAVA_STORE_CERTIFICATE_MAX])
{
	uint32_t bits = 0;
	size_t count = 0, done = 0;
	bool over = false;

	for (size_t i = 0; i < len; i++) {
		int value = digit(text[i]);

		if (is_space(text[i]))
			continue;
		if (text[i] == '=') {
			over = true;
			continue;
		}
		if (value < 0 || over)
			return -1;
		bits = bits << 6 | (uint32_t)value;
		if (++count % 4 == 1)
			continue;
		if (done >= JAVA_STORE_CERTIFICATE_MAX)
			return -1;
		out[done++] = (uint8_t)(bits >> (6 - 2 * ((count - 1) % 4)));
	}
	return count % 4 == 1 ? -1 : (ssize_t)done;
}

/* The next certificate of *text, which moves on; 0: there is none left. */
static size_t next_certificate(const char **text, const char *end,
			       uint8_t der[JAVA_STORE_CERTIFICATE_MAX])
{
	while (*text < end) {
		const char *from = memmem(*text, (size_t)(end - *text),
					  begin_line, strlen(begin_line));
		const char *until;
		ssize_t len;

		if (!from)
			break;
		from += strlen(begin_line);
		until = memmem(from, (size_t)(end - from), end_line,
			       strlen(end_line));
		if (!until)
			break;
		*text = until + strlen(end_line);
		len = decode(from, (size_t)(until - from), der);
		if (len > 0)
			return (size_t)len;
	}
	*text = end;
	return 0;
}

static void start_hash(struct sha1 *hash)
{
	sha1_init(hash);
	sha1_add(hash, salt, sizeof(salt) - 1);
}

static void set_count(struct buffer *out, uint32_t count)
{
	for (unsigned i = 0; i < 4; i++)
		out->data[COUNT_AT + i] = (uint8_t)(count >> (24 - 8 * i));
}

int java_store_begin(const char *pem, size_t len, struct buffer *out,
		     struct java_store *store)
{
	uint8_t der[JAVA_STORE_CERTIFICATE_MAX];
	const char *end = pem + len;
	uint32_t count = 0;
	char alias[32];
	size_t size;

	if (put_number(out, MAGIC, 4) < 0 || put_number(out, VERSION, 4) < 0 ||
	    put_number(out, 0, 4) < 0)
		return -1;
	while ((size = next_certificate(&pem, end, der)) > 0) {
		(void)text_format(alias, sizeof(alias), "bundle-%u", count++);
		if (put_entry(out, alias, der, size) < 0)
			return -1;
	}
	set_count(out, count + 1);
	store->len = out->len;
	start_hash(&store->hash);
	sha1_add(&store->hash, out->data, out->len);
	return 0;
}

int java_store_end(const struct java_store *store, const char *pem, size_t len,
		   struct buffer *out)
{
	uint8_t der[JAVA_STORE_CERTIFICATE_MAX], digest[SHA1_BYTES];
	struct sha1 hash = store->hash;
	size_t from = out->len;
	size_t size = next_certificate(&pem, pem + len, der);

	if (!size || put_entry(out, ALIAS, der, size) < 0)
		return -1;
	sha1_add(&hash, out->data + from, out->len - from);
	sha1_finish(&hash, digest);
	return put(out, digest, sizeof(digest));
}

static uint32_t number_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

/* Where one of ours begins that is the last; end: there is none. */
static size_t last_of_ours(const uint8_t *list, size_t end)
{
	static const uint8_t head[] = "\0\0\0\2\0\14" ALIAS;
	const size_t fixed = sizeof(head) - 1 + 8 + 2 + strlen("X.509") + 4;
	size_t most = fixed + JAVA_STORE_CERTIFICATE_MAX;
	size_t from = end - HEADER_BYTES > most ? end - most : HEADER_BYTES;
	const uint8_t *found =
		memmem(list + from, end - from, head, sizeof(head) - 1);
	size_t left = found ? (size_t)(list + end - found) : 0;

	if (left < fixed || number_at(found + fixed - 4) != left - fixed)
		return end;
	return end - left;
}

bool java_store_has(const void *list, size_t list_len, const char *pem,
		    size_t len)
{
	uint8_t der[JAVA_STORE_CERTIFICATE_MAX];
	size_t size = next_certificate(&pem, pem + len, der);

	return size && list_len >= HEADER_BYTES + size + SHA1_BYTES &&
	       memcmp((const uint8_t *)list + list_len - SHA1_BYTES - size, der,
		      size) == 0;
}

int java_store_add(const void *list, size_t list_len, const char *pem,
		   size_t len, struct buffer *out)
{
	const uint8_t *bytes = list;
	struct java_store store;
	uint8_t digest[SHA1_BYTES];
	struct sha1 hash;
	uint32_t count;
	size_t end, keep;

	if (list_len < HEADER_BYTES + SHA1_BYTES || number_at(bytes) != MAGIC ||
	    number_at(bytes + 4) != VERSION)
		return -1;
	end = list_len - SHA1_BYTES;
	start_hash(&hash);
	sha1_add(&hash, bytes, end);
	sha1_finish(&hash, digest);
	/* Another password, or no list at all: not ours to change. */
	if (memcmp(digest, bytes + end, SHA1_BYTES) != 0)
		return -1;
	keep = last_of_ours(bytes, end);
	count = number_at(bytes + COUNT_AT);
	if (count == UINT32_MAX || put(out, bytes, keep) < 0)
		return -1;
	set_count(out, keep == end ? count + 1 : count);
	store.len = out->len;
	start_hash(&store.hash);
	sha1_add(&store.hash, out->data, out->len);
	return java_store_end(&store, pem, len, out);
}
