/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_client_hello.c - hellos of OpenSSL, hellos made by hand, in pieces
 */
#include "wire/client_hello.h"

#include <openssl/ssl.h>

#include "wire/big_endian.h"
#include "lib/tap.h"

#define BYTES_MAX (3 * CLIENT_HELLO_MAX)

struct bytes {
	uint8_t data[BYTES_MAX];
	size_t len;
};

static struct client_hello hello;
static struct bytes message, input;

static enum client_hello_result parse(void)
{
	return client_hello_parse(input.data, input.len, &hello);
}

/* The message in records of at most size bytes. */
static void wrap(size_t size)
{
	struct writer w = writer_over(input.data, sizeof(input.data));

	for (size_t at = 0; at < message.len; at += size) {
		size_t len = message.len - at < size ? message.len - at : size;

		writer_u8(&w, 22);
		writer_be16(&w, at ? 0x0303 : 0x0301);
		writer_be16(&w, (uint16_t)len);
		writer_bytes(&w, message.data + at, len);
	}
	CHECK(!w.bad);
	input.len = writer_len(&w);
}

/* A hello with these extensions; its length is that of its parts. */
static void make(const char *extensions, size_t len)
{
	struct writer w = writer_over(message.data, sizeof(message.data));
	size_t body = 2 + 32 + 1 + 2 + 2 + 2 + (len ? 2 + len : 0);

	writer_u8(&w, 1);
	writer_u8(&w, (uint8_t)(body >> 16));
	writer_be16(&w, (uint16_t)body);
	writer_be16(&w, 0x0303);
	writer_bytes(&w, "0123456789abcdef0123456789abcdef", 32);
	writer_u8(&w, 0);
	writer_be16(&w, 2);
	writer_be16(&w, 0x1301);
	writer_be16(&w, 0x0100); /* one compression method: none */
	if (len) {
		writer_be16(&w, (uint16_t)len);
		writer_bytes(&w, extensions, len);
	}
	CHECK(!w.bad);
	message.len = writer_len(&w);
	wrap(16384);
}

#define MAKE(extensions) make(extensions, sizeof(extensions) - 1)
#define SNI_A "\0\0\0\x0a\0\x08\0\0\5a.com"

/* What OpenSSL's client says first. */
static void make_openssl(const char *name, const char *alpn, size_t alpn_len,
			 int max_version)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	int len;

	SSL_set_bio(ssl, in, out);
	if (max_version)
		SSL_set_max_proto_version(ssl, max_version);
	if (name)
		CHECK(SSL_set_tlsext_host_name(ssl, name) == 1);
	if (alpn)
		CHECK(SSL_set_alpn_protos(ssl, (const uint8_t *)alpn,
					  (unsigned)alpn_len) == 0);
	CHECK(SSL_connect(ssl) < 0);
	len = BIO_read(out, input.data, sizeof(input.data));
	CHECK(len > 0);
	input.len = len > 0 ? (size_t)len : 0;
	SSL_free(ssl);
	SSL_CTX_free(context);
	/* It is in one record. */
	message.len = input.len - 5;
	memcpy(message.data, input.data + 5, message.len);
}

static void hellos_of_openssl_are_read(void)
{
	make_openssl("WWW.Example.com", "\2h2\10http/1.1", 12, 0);
	CHECK(parse() == CLIENT_HELLO_DONE);
	CHECK(hello.sni == CLIENT_HELLO_SNI_NAME);
	CHECK(!strcmp(hello.name, "www.example.com"));
	CHECK(hello.has_alpn && hello.offers_h2 && hello.offers_http1);
	CHECK(!hello.has_ech && hello.version == 0x0304);
	CHECK(hello.len == input.len && !hello.problem);

	make_openssl(NULL, NULL, 0, TLS1_2_VERSION);
	CHECK(parse() == CLIENT_HELLO_DONE);
	CHECK(hello.sni == CLIENT_HELLO_SNI_NONE && hello.name[0] == '\0');
	CHECK(!hello.has_alpn && hello.version == 0x0303);

	make_openssl("a.example", "\3foo", 4, 0);
	CHECK(parse() == CLIENT_HELLO_DONE);
	CHECK(hello.has_alpn && !hello.offers_h2 && !hello.offers_http1);
}

static void no_extensions_is_no_name(void)
{
	MAKE("");
	CHECK(parse() == CLIENT_HELLO_DONE);
	CHECK(hello.sni == CLIENT_HELLO_SNI_NONE);
}

/* Records of every size, read in every cut, asked only when it is worth it. */
static void pieces_are_put_together(void)
{
	struct bytes *whole = malloc(sizeof(*whole));

	make_openssl("www.example.com", "\2h2", 3, 0);
	for (size_t size = 1; size <= message.len; size += 1 + size / 8) {
		size_t need = 0;

		wrap(size);
		*whole = input;
		for (input.len = 0; input.len < whole->len; input.len++) {
			/* In memory of exactly this size. */
			uint8_t *copy = malloc(input.len ? input.len : 1);

			memcpy(copy, whole->data, input.len);
			CHECK(client_hello_parse(copy, input.len, &hello) ==
			      CLIENT_HELLO_MORE);
			CHECK(hello.need > input.len);
			CHECK(hello.need >= need && hello.need <= whole->len);
			need = hello.need;
			free(copy);
		}
		CHECK(need == whole->len);
		CHECK(parse() == CLIENT_HELLO_DONE);
		CHECK(hello.len == whole->len);
		CHECK(!strcmp(hello.name, "www.example.com"));
		CHECK(hello.offers_h2);
	}
	free(whole);
}

static void what_follows_is_not_part_of_it(void)
{
	MAKE(SNI_A);
	memcpy(input.data + input.len, "\x14\3\3\0\1\1", 6);
	input.len += 6;
	CHECK(parse() == CLIENT_HELLO_DONE);
	CHECK(hello.len == input.len - 6);
	CHECK(!strcmp(hello.name, "a.com"));
}

static void names_are_made_canonical_or_bad(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want; /* NULL: bad */
	} cases[] = {
#define NAME(text, want) { text, sizeof(text) - 1, want }
		NAME("example.com", "example.com"),
		NAME("EXAMPLE.com", "example.com"),
		NAME("example.com.", "example.com"),
		NAME("xn--bcher-kva.example", "xn--bcher-kva.example"),
		NAME("allowed.com\0.evil.com", NULL),
		NAME("allowed.com\0", NULL),
		NAME("\0", NULL),
		NAME("a b.com", NULL),
		NAME("a\r\nb.com", NULL),
		NAME("b\xc3\xbc"
		     "cher.example",
		     NULL),
		NAME("127.0.0.1", NULL),
		NAME("0x7f.1", NULL),
		NAME("::1", NULL),
		NAME("[::1]", NULL),
		NAME("example.com:443", NULL),
		NAME("*.example.com", NULL),
		NAME("a%2ecom", NULL),
		NAME("a..com", NULL),
		NAME(".", NULL),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char extension[300];
		struct writer w = writer_over(extension, sizeof(extension));
		uint16_t len = (uint16_t)cases[i].len;

		writer_be16(&w, 0);
		writer_be16(&w, (uint16_t)(len + 5));
		writer_be16(&w, (uint16_t)(len + 3));
		writer_u8(&w, 0);
		writer_be16(&w, len);
		writer_bytes(&w, cases[i].bytes, len);
		make(extension, writer_len(&w));
		CHECK(parse() == CLIENT_HELLO_DONE);
		if (cases[i].want) {
			CHECK(hello.sni == CLIENT_HELLO_SNI_NAME);
			CHECK(!strcmp(hello.name, cases[i].want));
		} else {
			CHECK(hello.sni == CLIENT_HELLO_SNI_BAD);
			CHECK(hello.name[0] == '\0');
		}
	}
}

static void long_names_are_bad(void)
{
	static char extension[70000];
	static const size_t lengths[] = { 253, 254, 255, 256, 1000, 20000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct writer w = writer_over(extension, sizeof(extension));
		uint16_t len = (uint16_t)lengths[i];

		writer_be16(&w, 0);
		writer_be16(&w, (uint16_t)(len + 5));
		writer_be16(&w, (uint16_t)(len + 3));
		writer_u8(&w, 0);
		writer_be16(&w, len);
		for (uint16_t n = 1; n <= len; n++)
			writer_u8(&w, n % 64 && n < len ? 'a'
				      : n < len         ? '.'
							: 'b');
		make(extension, writer_len(&w));
		CHECK(parse() == CLIENT_HELLO_DONE);
		CHECK(hello.sni == (len <= 253 ? CLIENT_HELLO_SNI_NAME
					       : CLIENT_HELLO_SNI_BAD));
	}
}

static void malformed_extensions_are_refused(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
	} cases[] = {
#define ROW(what, bytes) { what, bytes, sizeof(bytes) - 1 }
		ROW("half a type", "\0"),
		ROW("no length", "\0\0"),
		ROW("longer than it is", "\0\0\0\x0b\0\x08\0\0\5a.com"),
		ROW("an empty server name", "\0\0\0\0"),
		ROW("an empty list", "\0\0\0\2\0\0"),
		ROW("an empty name", "\0\0\0\5\0\3\0\0\0"),
		ROW("a list shorter than its extension",
		    "\0\0\0\x0b\0\x08\0\0\5a.comx"),
		ROW("a name longer than its list",
		    "\0\0\0\x0a\0\x08\0\0\6a.com"),
		ROW("a name shorter than its list",
		    "\0\0\0\x0a\0\x08\0\0\4a.com"),
		ROW("another kind of name", "\0\0\0\x0a\0\x08\1\0\5a.com"),
		ROW("two names", "\0\0\0\x12\0\x10\0\0\5a.com\0\0\5b.com"),
		ROW("two server names", SNI_A SNI_A),
		ROW("two others", "\xff\1\0\0\xff\1\0\0"),
		ROW("an empty list of protocols", "\0\x10\0\2\0\0"),
		ROW("an empty protocol", "\0\x10\0\3\0\1\0"),
		ROW("a protocol too long", "\0\x10\0\4\0\2\2h"),
		ROW("protocols without a list", "\0\x10\0\0"),
		ROW("a list of protocols too long", "\0\x10\0\5\0\4\2h2"),
		ROW("no versions", "\0\x2b\0\1\0"),
		ROW("half a version", "\0\x2b\0\2\1\3"),
		ROW("versions too long", "\0\x2b\0\3\4\3\4"),
		ROW("bytes behind versions", "\0\x2b\0\4\2\3\4\0"),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(cases[i].bytes, cases[i].len);
		if (parse() != CLIENT_HELLO_BAD)
			printf("# %s\n", cases[i].what);
		CHECK(parse() == CLIENT_HELLO_BAD && hello.problem);
		wrap(3);
		CHECK(parse() == CLIENT_HELLO_BAD && hello.problem);
	}
}

static void malformed_messages_are_refused(void)
{
	static const struct {
		const char *what;
		size_t at; /* in the message */
		uint8_t byte;
	} cases[] = {
		{ "a ServerHello", 0, 2 },
		{ "a huge one", 1, 1 },
		{ "a longer session id", 38, 1 },
		{ "a session id of 33 bytes", 38, 33 },
		{ "no ciphers", 40, 0 },
		{ "half a cipher", 40, 1 },
		{ "no compression", 43, 0 },
		{ "more compression", 43, 2 },
		{ "longer extensions", 46, 15 },
		{ "shorter extensions", 46, 13 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MAKE(SNI_A);
		message.data[cases[i].at] = cases[i].byte;
		wrap(16384);
		if (parse() != CLIENT_HELLO_BAD)
			printf("# %s\n", cases[i].what);
		CHECK(parse() == CLIENT_HELLO_BAD && hello.problem);
	}
}

/* The message's own length says where it ends, and its parts must agree. */
static void lengths_must_agree(void)
{
	MAKE(SNI_A);
	message.data[3]++;
	wrap(16384);
	CHECK(parse() == CLIENT_HELLO_MORE);
	message.data[message.len++] = 0;
	wrap(16384);
	CHECK(parse() == CLIENT_HELLO_BAD);
	MAKE(SNI_A);
	message.data[3]--;
	wrap(16384);
	CHECK(parse() == CLIENT_HELLO_BAD);
	MAKE(SNI_A);
	message.data[message.len++] = 0; /* a second message begins */
	wrap(16384);
	CHECK(parse() == CLIENT_HELLO_BAD);
}

static void malformed_records_are_refused(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
	} cases[] = {
		{ "an alert first", 0, 21 },
		{ "change cipher spec first", 0, 20 },
		{ "data first", 0, 23 },
		{ "another major version", 1, 2 },
		{ "major version 0", 1, 0 },
		{ "an alert between", 25, 21 },
		{ "data between", 25, 23 },
		{ "another version between", 26, 4 },
		{ "an empty record", 29, 0 },
		{ "a record too long", 28, 0x41 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MAKE(SNI_A);
		wrap(20);
		input.data[cases[i].at] = cases[i].byte;
		if (parse() != CLIENT_HELLO_BAD)
			printf("# %s\n", cases[i].what);
		CHECK(parse() == CLIENT_HELLO_BAD && hello.problem);
	}
	MAKE(SNI_A);
	input.data[2] = 9; /* whatever: nobody looks at it */
	CHECK(parse() == CLIENT_HELLO_DONE);
}

static void other_protocols_are_not_tls(void)
{
	static const char *const cases[] = {
		"GET / HTTP/1.1\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"EHLO a\r\n",
		"\x80\x2e\1\3\1",
		"\x16\x10",
		"\x15zzz",
		"\x13zzz",
		"\x19\3\1",
		"\xff",
		"\n",
		"PRI * HTTP/2.0\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(client_hello_parse(cases[i], strlen(cases[i]), &hello) ==
		      CLIENT_HELLO_NOT_TLS);
		CHECK(hello.problem != NULL);
	}
	/* PostgreSQL's request for TLS */
	CHECK(client_hello_parse("\0\0\0\x08", 4, &hello) ==
	      CLIENT_HELLO_NOT_TLS);
	CHECK(client_hello_parse("\x16", 1, &hello) == CLIENT_HELLO_MORE);
	CHECK(hello.need == 2);
	CHECK(client_hello_parse(NULL, 0, &hello) == CLIENT_HELLO_MORE);
	CHECK(hello.need == 1);
}

static void encrypted_hellos_are_told(void)
{
	MAKE("\xfe\x0d\0\1\0" SNI_A);
	CHECK(parse() == CLIENT_HELLO_DONE && hello.has_ech);
	MAKE(SNI_A "\xfe\x0d\0\0");
	CHECK(parse() == CLIENT_HELLO_DONE && hello.has_ech);
	MAKE(SNI_A "\xfe\x08\0\0");
	CHECK(parse() == CLIENT_HELLO_DONE && hello.has_ech);
	MAKE(SNI_A "\xff\xce\0\0");
	CHECK(parse() == CLIENT_HELLO_DONE && hello.has_ech);
	MAKE(SNI_A "\xff\1\0\1\0"); /* renegotiation info */
	CHECK(parse() == CLIENT_HELLO_DONE && !hello.has_ech);
}

static void grease_is_no_version(void)
{
	MAKE("\x0a\x0a\0\0\0\x2b\0\7\6\x7a\x7a\3\4\3\3");
	CHECK(parse() == CLIENT_HELLO_DONE && hello.version == 0x0304);
	MAKE("\0\x2b\0\3\2\3\3");
	CHECK(parse() == CLIENT_HELLO_DONE && hello.version == 0x0303);
}

static void lengths_are_bounded(void)
{
	static char extensions[65536];
	struct writer w = writer_over(extensions, sizeof(extensions));

	/* One extension less and one more than there may be. */
	for (uint16_t i = 0; i <= CLIENT_HELLO_EXTENSIONS_MAX; i++) {
		writer_be16(&w, (uint16_t)(0x4000 + i));
		writer_be16(&w, 0);
	}
	make(extensions, writer_len(&w) - 4);
	CHECK(parse() == CLIENT_HELLO_DONE);
	make(extensions, writer_len(&w));
	CHECK(parse() == CLIENT_HELLO_BAD);
	/* The largest hello; its records' headers count. */
	memcpy(extensions, "\x40\0\xff\xff", 4);
	for (size_t len = 65400; len <= 65500; len++) {
		extensions[2] = (char)((len - 4) >> 8);
		extensions[3] = (char)(len - 4);
		make(extensions, len);
		CHECK(parse() == (input.len <= CLIENT_HELLO_MAX
					  ? CLIENT_HELLO_DONE
					  : CLIENT_HELLO_BAD));
	}
	CHECK(input.len > CLIENT_HELLO_MAX);
	/* Too many records, whole and while they come in. */
	extensions[2] = (char)((2000 - 4) >> 8);
	extensions[3] = (char)(2000 - 4);
	make(extensions, 2000);
	wrap(1);
	CHECK(parse() == CLIENT_HELLO_BAD);
	wrap(2);
	CHECK(input.len == (message.len + 1) / 2 * 5 + message.len);
	CHECK(parse() == (((message.len + 1) / 2 <= CLIENT_HELLO_RECORDS_MAX)
				  ? CLIENT_HELLO_DONE
				  : CLIENT_HELLO_BAD));
	wrap(1);
	input.len = 6 * CLIENT_HELLO_RECORDS_MAX - 1;
	CHECK(parse() == CLIENT_HELLO_MORE);
	input.len = 6 * CLIENT_HELLO_RECORDS_MAX + 1;
	CHECK(parse() == CLIENT_HELLO_BAD);
}

int main(void)
{
	RUN(hellos_of_openssl_are_read);
	RUN(no_extensions_is_no_name);
	RUN(pieces_are_put_together);
	RUN(what_follows_is_not_part_of_it);
	RUN(names_are_made_canonical_or_bad);
	RUN(long_names_are_bad);
	RUN(malformed_extensions_are_refused);
	RUN(malformed_messages_are_refused);
	RUN(lengths_must_agree);
	RUN(malformed_records_are_refused);
	RUN(other_protocols_are_not_tls);
	RUN(encrypted_hellos_are_told);
	RUN(grease_is_no_version);
	RUN(lengths_are_bounded);
	return DONE();
}
