/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ssh_agent.c - the protocol of ssh-agent, as far as a sandbox may speak
 * it
 */
#include "wire/ssh_agent.h"

#include "base/buffer.h"
#include "base/own.h"
#include "lib/tap.h"

/* Messages without their heads. */
#define LIST "\x0b"
#define SIGN "\x0d\0\0\0\3KEY\0\0\0\4DATA\0\0\0\2"
#define KEYS "\x0c\0\0\0\2\0\0\0\3KEY\0\0\0\1c\0\0\0\5OTHER\0\0\0\0"

static const struct ssh_keys allowed = {
	.list = { { .blob = (const uint8_t *)"KEY", .len = 3 } },
	.count = 1,
};

#define REQUEST(text) ssh_agent_request(&allowed, text, sizeof(text) - 1)

static void lists_and_signatures_with_its_keys_are_allowed(void)
{
	CHECK(REQUEST(LIST) == SSH_AGENT_LIST);
	CHECK(REQUEST(SIGN) == SSH_AGENT_SIGN);
}

static void everything_else_is_refused(void)
{
	static const struct ssh_keys none = { .count = 0 };

	for (int type = 0; type < 256; type++) {
		uint8_t message[sizeof(SIGN) - 1];

		memcpy(message, SIGN, sizeof(message));
		message[0] = (uint8_t)type;
		CHECK(ssh_agent_request(&allowed, message, sizeof(message)) ==
		      (type == 13 ? SSH_AGENT_SIGN : SSH_AGENT_REFUSED));
	}
	CHECK(REQUEST(LIST "x") == SSH_AGENT_REFUSED);
	CHECK(REQUEST(SIGN "x") == SSH_AGENT_REFUSED);
	CHECK(REQUEST("\x0d\0\0\0\3KEX\0\0\0\0\0\0\0\0") == SSH_AGENT_REFUSED);
	CHECK(REQUEST("\x0d\0\0\0\2KE\0\0\0\0\0\0\0\0") == SSH_AGENT_REFUSED);
	CHECK(REQUEST("\x0d\0\0\0\4KEYS\0\0\0\0\0\0\0\0") == SSH_AGENT_REFUSED);
	CHECK(REQUEST("\x0d\0\0\0\0\0\0\0\0\0\0\0\0") == SSH_AGENT_REFUSED);
	CHECK(REQUEST("\x0d\xff\xff\xff\xffKEY") == SSH_AGENT_REFUSED);
	CHECK(ssh_agent_request(&none, SIGN, sizeof(SIGN) - 1) ==
	      SSH_AGENT_REFUSED);
	CHECK(ssh_agent_request(&allowed, "", 0) == SSH_AGENT_REFUSED);
}

static void a_request_cut_anywhere_is_refused(void)
{
	for (size_t len = 0; len < sizeof(SIGN) - 1; len++)
		CHECK(ssh_agent_request(&allowed, SIGN, len) ==
		      SSH_AGENT_REFUSED);
}

static void keys_that_were_not_named_are_left_out(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1024);
	static struct ssh_keys keys;
	static const char wanted[] = "\0\0\0\x11\x0c\0\0\0\1"
				     "\0\0\0\3KEY\0\0\0\1c";

	CHECK(!ssh_agent_parse_keys(KEYS, sizeof(KEYS) - 1, &keys));
	CHECK(keys.count == 2);
	ssh_agent_keep(&keys, &allowed);
	CHECK(keys.count == 1);
	CHECK(!ssh_agent_encode_keys(&keys, &out));
	CHECK(out.len == sizeof(wanted) - 1 &&
	      !memcmp(out.data, wanted, out.len));
	CHECK(ssh_agent_length(out.data) == out.len - SSH_AGENT_HEAD);
}

static void an_answer_cut_anywhere_is_refused(void)
{
	static struct ssh_keys keys;

	for (size_t len = 0; len < sizeof(KEYS) - 1; len++) {
		CHECK(ssh_agent_parse_keys(KEYS, len, &keys) < 0);
		CHECK(keys.count == 0);
	}
	CHECK(ssh_agent_parse_keys(KEYS "x", sizeof(KEYS), &keys) < 0);
	CHECK(ssh_agent_parse_keys("\x0c\xff\xff\xff\xff", 5, &keys) < 0);
	CHECK(ssh_agent_parse_keys("\x0d\0\0\0\0", 5, &keys) < 0);
	CHECK(!ssh_agent_parse_keys("\x0c\0\0\0\0", 5, &keys));
}

static void a_signature_is_one_string(void)
{
	static const char good[] = "\x0e\0\0\0\3SIG";

	CHECK(ssh_agent_is_signature(good, sizeof(good) - 1));
	for (size_t len = 0; len < sizeof(good) - 1; len++)
		CHECK(!ssh_agent_is_signature(good, len));
	CHECK(!ssh_agent_is_signature(good, sizeof(good)));
	CHECK(!ssh_agent_is_signature("\5\0\0\0\3SIG", 8));
}

static void lengths_have_a_limit(void)
{
	CHECK(ssh_agent_length((const uint8_t *)"\0\0\0\1") == 1);
	CHECK(ssh_agent_length((const uint8_t *)"\0\0\0\0") == 0);
	CHECK(ssh_agent_length((const uint8_t *)"\0\4\0\0") ==
	      SSH_AGENT_MESSAGE_MAX);
	CHECK(ssh_agent_length((const uint8_t *)"\0\4\0\1") == 0);
	CHECK(ssh_agent_length((const uint8_t *)"\xff\xff\xff\xff") == 0);
}

int main(void)
{
	RUN(lists_and_signatures_with_its_keys_are_allowed);
	RUN(everything_else_is_refused);
	RUN(a_request_cut_anywhere_is_refused);
	RUN(keys_that_were_not_named_are_left_out);
	RUN(an_answer_cut_anywhere_is_refused);
	RUN(a_signature_is_one_string);
	RUN(lengths_have_a_limit);
	return DONE();
}
