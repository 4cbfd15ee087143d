/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dns_message.c - questions and answers, against glibc's own parser
 */
#include "wire/dns_message.h"

#include <arpa/nameser.h>
#include <resolv.h>

#include "wire/big_endian.h"
#include "lib/tap.h"

#define ID 0x1234
#define RD 0x0100

struct message {
	uint8_t bytes[8192];
	size_t len;
};

/* What a question looks like; zero means the ordinary. */
struct spec {
	const char *labels; /* with lengths, without the root; or NULL: name */
	size_t labels_len;
	const char *name;
	uint16_t flags, type, class;
	const char *edns; /* bytes of the OPT record, or NULL */
	size_t edns_len;
};

static void write_labels(struct writer *w, const char *name)
{
	while (*name) {
		size_t len = strcspn(name, ".");

		writer_u8(w, (uint8_t)len);
		writer_bytes(w, name, len);
		name += len + (name[len] == '.');
	}
}

static struct message make(const struct spec *spec)
{
	struct message message;
	struct writer w = writer_over(message.bytes, sizeof(message.bytes));

	writer_be16(&w, ID);
	writer_be16(&w, spec->flags ? spec->flags : RD);
	writer_be16(&w, 1);
	writer_be16(&w, 0);
	writer_be16(&w, 0);
	writer_be16(&w, spec->edns ? 1 : 0);
	if (spec->labels)
		writer_bytes(&w, spec->labels, spec->labels_len);
	else
		write_labels(&w, spec->name);
	writer_u8(&w, 0);
	writer_be16(&w, spec->type ? spec->type : DNS_TYPE_A);
	writer_be16(&w, spec->class ? spec->class : 1);
	if (spec->edns)
		writer_bytes(&w, spec->edns, spec->edns_len);
	message.len = writer_len(&w);
	return message;
}

static struct dns_query query;
static uint8_t answer[DNS_ANSWER_MAX];

static int parse(const struct message *message)
{
	return dns_message_parse_query(message->bytes, message->len, &query);
}

static int parse_name(const char *name)
{
	static struct message message;

	message = make(&(struct spec){ .name = name });
	return parse(&message);
}

#define PARSE_LABELS(text)                                                 \
	(message = make(&(struct spec){ .labels = text,                    \
					.labels_len = sizeof(text) - 1 }), \
	 parse(&message))

static const char opt[] = "\0\0\x29\x10\0\0\0\x80\0\0\0"; /* DO, 4096 bytes */
#define OPT .edns = opt, .edns_len = sizeof(opt) - 1

static void questions_are_read(void)
{
	struct message message;

	CHECK(parse_name("www.Example.COM") == DNS_NOERROR);
	CHECK(!strcmp(query.name, "www.example.com"));
	CHECK(query.id == ID && query.type == DNS_TYPE_A);
	CHECK(query.question_len == 17 + 4 && !query.has_edns);
	CHECK(!memcmp(query.question, "\3www\7Example\3COM\0\0\1\0\1", 21));
	message = make(&(struct spec){ .name = "a.b", .type = 65, OPT });
	CHECK(parse(&message) == DNS_NOERROR);
	CHECK(query.type == DNS_TYPE_HTTPS);
	CHECK(query.has_edns && query.wants_dnssec);
	CHECK(parse_name("") == DNS_NOERROR);
	CHECK(query.is_root && query.name[0] == '\0');
}

/* Such a question is well-formed; no host has that name. */
static void names_of_no_host_are_empty(void)
{
	struct message message;

	CHECK(PARSE_LABELS("\3a b\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\3a\0b\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\3a.b\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\2a.\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\1.") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\3a%b\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\2\xc3\xa4\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\2-a\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\1*\3com") == 0 && query.name[0] == '\0');
	CHECK(PARSE_LABELS("\003127\1"
			   "0\1"
			   "0\1"
			   "1") == 0 &&
	      query.name[0] == '\0');
	CHECK(PARSE_LABELS("\4\x1b[2J\3com") == 0 && query.name[0] == '\0');
	CHECK(!query.is_root);
	CHECK(PARSE_LABELS("\4_dns\3com") == 0);
	CHECK(!strcmp(query.name, "_dns.com"));
}

static void malformed_questions_are_refused(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		int want;
	} cases[] = {
#define ROW(what, bytes, want) { what, bytes, sizeof(bytes) - 1, want }
#define HEAD(flags, counts) "\x12\x34" flags counts
#define ONE "\0\1\0\0\0\0\0\0"
		ROW("nothing", "", -1),
		ROW("half a header", "\x12\x34\1\0\0\1", -1),
		ROW("an answer", HEAD("\x81\x80", ONE) "\1a\0\0\1\0\1", -1),
		ROW("an answer without records", HEAD("\x80\0", ONE), -1),
		ROW("opcode 1", HEAD("\x08\0", ONE) "\1a\0\0\1\0\1",
		    DNS_NOTIMP),
		ROW("UPDATE", HEAD("\x28\0", ONE) "\1a\0\0\1\0\1", DNS_NOTIMP),
		ROW("no question", HEAD("\1\0", "\0\0\0\0\0\0\0\0"),
		    DNS_FORMERR),
		ROW("two questions",
		    HEAD("\1\0",
			 "\0\2\0\0\0\0\0\0") "\1a\0\0\1\0\1\1b\0\0\1\0\1",
		    DNS_FORMERR),
		ROW("an answer in a query",
		    HEAD("\1\0", "\0\1\0\1\0\0\0\0") "\1a\0\0\1\0\1"
						     "\xc0\x0c\0\1\0\1"
						     "\0\0\0\0\0\4\1\2\3\4",
		    DNS_FORMERR),
		ROW("an authority in a query",
		    HEAD("\1\0", "\0\1\0\0\0\1\0\0") "\1a\0\0\1\0\1",
		    DNS_FORMERR),
		ROW("two additional",
		    HEAD("\1\0", "\0\1\0\0\0\0\0\2") "\1a\0\0\1\0\1",
		    DNS_FORMERR),
		ROW("a pointer to itself", HEAD("\1\0", ONE) "\xc0\x0c\0\1\0\1",
		    DNS_FORMERR),
		ROW("a pointer into the header",
		    HEAD("\1\0", ONE) "\xc0\x00\0\1\0\1", DNS_FORMERR),
		ROW("a pointer behind a label",
		    HEAD("\1\0", ONE) "\1a\xc0\x0c\0\1\0\1", DNS_FORMERR),
		ROW("a label of the form 01",
		    HEAD("\1\0", ONE) "\x41"
				      "a\0\0\1\0\1",
		    DNS_FORMERR),
		ROW("a label of the form 10",
		    HEAD("\1\0", ONE) "\x81"
				      "a\0\0\1\0\1",
		    DNS_FORMERR),
		ROW("a label that never ends",
		    HEAD("\1\0", ONE) "\x3f"
				      "abc",
		    DNS_FORMERR),
		ROW("no root", HEAD("\1\0", ONE) "\1a", DNS_FORMERR),
		ROW("no class", HEAD("\1\0", ONE) "\1a\0\0\1", DNS_FORMERR),
		ROW("a byte behind", HEAD("\1\0", ONE) "\1a\0\0\1\0\1x",
		    DNS_FORMERR),
		ROW("class CH", HEAD("\1\0", ONE) "\1a\0\0\1\0\3", DNS_REFUSED),
		ROW("class ANY", HEAD("\1\0", ONE) "\1a\0\0\1\0\xff",
		    DNS_REFUSED),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int got = dns_message_parse_query(cases[i].bytes, cases[i].len,
						  &query);

		if (got != cases[i].want)
			printf("# %s: %d\n", cases[i].what, got);
		CHECK(got == cases[i].want);
	}
}

static void malformed_edns_is_refused(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		int want;
	} cases[] = {
		ROW("fine", "\0\0\x29\4\xd0\0\0\0\0\0\0", DNS_NOERROR),
		ROW("a cookie",
		    "\0\0\x29\4\xd0\0\0\0\0\0\x0c\0\x0a\0\x08"
		    "01234567",
		    DNS_NOERROR),
		ROW("a tiny size", "\0\0\x29\0\1\0\0\0\0\0\0", DNS_NOERROR),
		ROW("version 1", "\0\0\x29\4\xd0\0\1\0\0\0\0", DNS_BADVERS),
		ROW("an rcode", "\0\0\x29\4\xd0\1\0\0\0\0\0", DNS_FORMERR),
		ROW("a name", "\1a\0\x29\4\xd0\0\0\0\0\0", DNS_FORMERR),
		ROW("a pointer", "\xc0\x0c\0\x29\4\xd0\0\0\0\0\0", DNS_FORMERR),
		ROW("another record", "\0\0\1\0\1\0\0\0\0\0\4\1\2\3\4",
		    DNS_FORMERR),
		ROW("TSIG", "\0\0\xfa\0\xff\0\0\0\0\0\0", DNS_FORMERR),
		ROW("nothing", "", DNS_FORMERR),
		ROW("cut", "\0\0\x29\4\xd0\0\0\0\0\0", DNS_FORMERR),
		ROW("options missing", "\0\0\x29\4\xd0\0\0\0\0\0\4",
		    DNS_FORMERR),
		ROW("half an option", "\0\0\x29\4\xd0\0\0\0\0\0\2\0\x0a",
		    DNS_FORMERR),
		ROW("an option too long",
		    "\0\0\x29\4\xd0\0\0\0\0\0\5\0\x0a\0\2x", DNS_FORMERR),
		ROW("a byte behind", "\0\0\x29\4\xd0\0\0\0\0\0\0x",
		    DNS_FORMERR),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct message message =
			make(&(struct spec){ .name = "a.example",
					     .edns = cases[i].bytes,
					     .edns_len = cases[i].len });
		int got = parse(&message);

		if (got != cases[i].want)
			printf("# %s: %d\n", cases[i].what, got);
		CHECK(got == cases[i].want);
	}
}

static void names_are_bounded(void)
{
	char name[300];

	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	name[253] = '\0';
	CHECK(parse_name(name) == DNS_NOERROR);
	CHECK(strlen(query.name) == 253);
	CHECK(query.question_len == DNS_QUESTION_MAX);
	name[253] = 'a';
	name[254] = '\0';
	CHECK(parse_name(name) == DNS_FORMERR);
	name[254] = 'a';
	name[299] = '\0';
	CHECK(parse_name(name) == DNS_FORMERR);
}

/* Enough bytes follow, so that only the length itself is wrong. */
static void long_labels_are_refused(void)
{
	for (int len = 62; len < 256; len++) {
		char labels[256];
		struct message message;

		labels[0] = (char)len;
		memset(labels + 1, 'a', sizeof(labels) - 1);
		message = make(&(struct spec){ .labels = labels,
					       .labels_len = (size_t)len + 1 });
		CHECK(parse(&message) ==
		      (len <= 63 ? DNS_NOERROR : DNS_FORMERR));
	}
}

static void long_queries_are_refused(void)
{
	static struct message message;
	static char edns[8000] = "\0\0\x29\4\xd0\0\0\0\0";
	const size_t options = sizeof(edns) - 11;

	edns[9] = (char)(options >> 8);
	edns[10] = (char)options;
	edns[13] = (char)((options - 4) >> 8);
	edns[14] = (char)(options - 4);
	message = make(&(struct spec){
		.name = "a.b", .edns = edns, .edns_len = sizeof(edns) });
	CHECK(parse(&message) == DNS_FORMERR);
	message.len = DNS_QUERY_MAX;
	CHECK(parse(&message) == DNS_FORMERR);
}

static void every_truncation_is_refused(void)
{
	struct message message =
		make(&(struct spec){ .name = "www.example.com", OPT });

	for (size_t len = 0; len < message.len; len++) {
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, message.bytes, len);
		CHECK(dns_message_parse_query(copy, len, &query) ==
		      (len < 12 ? -1 : DNS_FORMERR));
		free(copy);
	}
	CHECK(parse(&message) == DNS_NOERROR);
}

/* glibc reads the same out of the answer as we put into it. */
static void check_answer(const char *name, const struct dns_answer *given)
{
	int len = dns_message_encode_answer(&query, given, answer,
					    sizeof(answer));
	ns_msg message;
	ns_rr record;

	REQUIRE(len > 0 && (size_t)len <= sizeof(answer));
	REQUIRE(ns_initparse(answer, len, &message) == 0);
	CHECK(ns_msg_id(message) == ID);
	CHECK(ns_msg_getflag(message, ns_f_qr) == 1);
	CHECK(ns_msg_getflag(message, ns_f_rd) == 1);
	CHECK(ns_msg_getflag(message, ns_f_ra) == 1);
	CHECK(ns_msg_getflag(message, ns_f_tc) == 0);
	CHECK(ns_msg_getflag(message, ns_f_aa) == 0);
	CHECK(ns_msg_getflag(message, ns_f_rcode) == (int)(given->rcode & 0xf));
	CHECK(ns_msg_count(message, ns_s_qd) == 1);
	CHECK(ns_msg_count(message, ns_s_an) == given->has_address);
	CHECK(ns_msg_count(message, ns_s_ar) == query.has_edns);
	REQUIRE(ns_parserr(&message, ns_s_qd, 0, &record) == 0);
	CHECK(!strcmp(ns_rr_name(record), name)); /* 0x20: letters as sent */
	CHECK(ns_rr_type(record) == query.type);
	CHECK(ns_rr_class(record) == ns_c_in);
	if (given->has_address) {
		REQUIRE(ns_parserr(&message, ns_s_an, 0, &record) == 0);
		CHECK(!strcmp(ns_rr_name(record), name));
		CHECK(ns_rr_type(record) == ns_t_a);
		CHECK(ns_rr_ttl(record) == given->ttl_s);
		REQUIRE(ns_rr_rdlen(record) == 4);
		CHECK(!memcmp(ns_rr_rdata(record), given->address, 4));
	}
	if (query.has_edns) {
		REQUIRE(ns_parserr(&message, ns_s_ar, 0, &record) == 0);
		CHECK(ns_rr_type(record) == ns_t_opt);
		CHECK(ns_rr_class(record) == DNS_UDP_SIZE);
		CHECK(ns_rr_ttl(record) ==
		      ((uint32_t)given->rcode >> 4 << 24 |
		       (query.wants_dnssec ? 0x8000u : 0)));
	}
}

static void answers_are_what_libc_expects(void)
{
	static const struct dns_answer answers[] = {
		{ .rcode = DNS_NOERROR,
		  .has_address = true,
		  .address = { 198, 18, 0, 7 },
		  .ttl_s = 60 },
		{ .rcode = DNS_NOERROR },
		{ .rcode = DNS_NXDOMAIN },
		{ .rcode = DNS_SERVFAIL },
		{ .rcode = DNS_REFUSED },
		{ .rcode = DNS_FORMERR },
		{ .rcode = DNS_BADVERS },
	};
	static const char name[] = "wWw.eXaMpLe.CoM";

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct message with_edns =
			make(&(struct spec){ .name = name, OPT });
		struct message plain = make(&(struct spec){ .name = name });

		CHECK(parse(&with_edns) == DNS_NOERROR);
		check_answer(name, &answers[i]);
		CHECK(parse(&plain) == DNS_NOERROR);
		check_answer(name, &answers[i]);
	}
}

static void the_longest_answer_fits(void)
{
	struct dns_answer given = { .has_address = true, .ttl_s = UINT32_MAX };
	struct message message;
	char name[256];

	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	name[253] = '\0';
	message = make(&(struct spec){ .name = name, OPT });
	CHECK(parse(&message) == DNS_NOERROR);
	CHECK(dns_message_encode_answer(&query, &given, answer,
					sizeof(answer)) == 298);
}

static void what_does_not_fit_is_cut(void)
{
	struct dns_answer given = { .has_address = true };
	struct message message =
		make(&(struct spec){ .name = "a.example", OPT });
	size_t start = 12 + 11 + 4, whole = start + 16 + 11;

	CHECK(parse(&message) == DNS_NOERROR);
	for (size_t size = 0; size <= whole; size++) {
		uint8_t *out = malloc(size ? size : 1);
		int len = dns_message_encode_answer(&query, &given, out, size);
		ns_msg parsed;

		CHECK(len == (size < start   ? -1
			      : size < whole ? (int)start
					     : (int)whole));
		if (len > 0) {
			CHECK(ns_initparse(out, len, &parsed) == 0);
			CHECK(ns_msg_getflag(parsed, ns_f_tc) ==
			      (size < whole));
		}
		free(out);
	}
}

static void unread_questions_are_answered_without(void)
{
	static const uint8_t bytes[] = "\x12\x34\x29\0\0\1\0\0\0\0\0\0junk";
	struct dns_answer given = { .has_address = true };
	ns_msg message;
	int len;

	given.rcode = dns_message_parse_query(bytes, sizeof(bytes) - 1, &query);
	CHECK(given.rcode == DNS_NOTIMP);
	len = dns_message_encode_answer(&query, &given, answer, sizeof(answer));
	CHECK(len == 12);
	CHECK(ns_initparse(answer, len, &message) == 0);
	CHECK(ns_msg_getflag(message, ns_f_opcode) == 5);
	CHECK(ns_msg_getflag(message, ns_f_rcode) == DNS_NOTIMP);
}

/* Queries as a C library makes them. */
static void what_libc_asks_is_understood(void)
{
	static const char *const names[] = { "example.com", "A.b.C.example.",
					     "_sip._tcp.example.com" };
	static const int types[] = { ns_t_a, ns_t_aaaa, ns_t_txt, ns_t_any };
	uint8_t bytes[512];

	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 4; j++) {
			int len = res_mkquery(ns_o_query, names[i], ns_c_in,
					      types[j], NULL, 0, NULL, bytes,
					      sizeof(bytes));
			char want[HOSTNAME_MAX + 1];

			REQUIRE(len > 0);
			CHECK(dns_message_parse_query(bytes, (size_t)len,
						      &query) == DNS_NOERROR);
			CHECK(hostname_canonical(names[i], strlen(names[i]),
						 want) > 0);
			CHECK(!strcmp(query.name, want));
			CHECK(query.type == types[j]);
		}
	}
}

int main(void)
{
	RUN(questions_are_read);
	RUN(names_of_no_host_are_empty);
	RUN(malformed_questions_are_refused);
	RUN(malformed_edns_is_refused);
	RUN(names_are_bounded);
	RUN(long_labels_are_refused);
	RUN(long_queries_are_refused);
	RUN(every_truncation_is_refused);
	RUN(answers_are_what_libc_expects);
	RUN(the_longest_answer_fits);
	RUN(what_does_not_fit_is_cut);
	RUN(unread_questions_are_answered_without);
	RUN(what_libc_asks_is_understood);
	return DONE();
}
