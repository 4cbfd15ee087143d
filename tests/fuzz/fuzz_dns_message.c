/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dns_message.c - glibc reads the same question, and every answer parses
 */
#include "wire/dns_message.h"

#include <arpa/nameser.h>
#include <string.h>

#include "lib/fuzz.h"

static void check_question(const uint8_t *data, size_t size,
			   const struct dns_query *query)
{
	char name[HOSTNAME_MAX + 1];
	ns_msg message;
	ns_rr record;

	FUZZ_CHECK(ns_initparse(data, (int)size, &message) == 0);
	FUZZ_CHECK(ns_parserr(&message, ns_s_qd, 0, &record) == 0);
	FUZZ_CHECK(ns_rr_type(record) == query->type);
	FUZZ_CHECK(ns_rr_class(record) == ns_c_in);
	if (hostname_canonical(ns_rr_name(record), strlen(ns_rr_name(record)),
			       name) < 0)
		FUZZ_CHECK(query->name[0] == '\0');
	else
		FUZZ_CHECK(!strcmp(name, query->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_answer given = { .has_address = true,
				    .address = { 1, 2, 3, 4 } };
	uint8_t answer[DNS_ANSWER_MAX];
	struct dns_query query;
	int rcode = dns_message_parse_query(data, size, &query);
	ns_msg message;
	int len;

	if (rcode < 0)
		return 0;
	if (rcode == DNS_NOERROR)
		check_question(data, size, &query);
	given.rcode = (enum dns_rcode)rcode;
	len = dns_message_encode_answer(&query, &given, answer, sizeof(answer));
	FUZZ_CHECK(len >= 12);
	FUZZ_CHECK(ns_initparse(answer, len, &message) == 0);
	FUZZ_CHECK(ns_msg_getflag(message, ns_f_tc) == 0);
	FUZZ_CHECK(dns_message_parse_query(answer, (size_t)len, &query) == -1);
	return 0;
}
