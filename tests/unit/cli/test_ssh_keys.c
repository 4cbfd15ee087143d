/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ssh_keys.c - how keys of an ssh-agent are named
 */
#include "cli/ssh_keys.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "wire/ssh_agent.h"

#define BLOB \
	"AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"
#define LINE "ssh-ed25519 " BLOB " me@host\n"
#define FINGERPRINT "SHA256:mKqU+0K8OhKmA8bBQi9Rz0Q5l7/g160hIP+rJYSTNj4"

static unsigned char blob[SSH_KEY_BLOB_MAX];

static int parse(const char *text)
{
	return ssh_keys_parse_line(text, strlen(text), blob);
}

static void a_public_key_is_read(void)
{
	CHECK(parse(LINE) == 51 && blob[19] == 1 && blob[50] == 32);
	CHECK(parse("ssh-ed25519 " BLOB) == 51);
	CHECK(parse("ssh-ed25519 " BLOB "\r\n") == 51);
}

static void what_is_no_public_key_is_refused(void)
{
	CHECK(parse("") < 0);
	CHECK(parse("\n" LINE) < 0);
	CHECK(parse("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA") < 0);
	CHECK(parse("ssh-rsa " BLOB) < 0);
	CHECK(parse("ssh-ed2551 " BLOB) < 0);
	CHECK(parse("ssh-ed25519 !" BLOB) < 0);
	for (size_t len = 0; len < strlen("ssh-ed25519 AAAAC3NzaC1lZDI1N");
	     len++)
		CHECK(ssh_keys_parse_line(LINE, len, blob) < 0);
}

static void comment_and_fingerprint_name_a_key(void)
{
	static struct ssh_keys keys;
	struct error err = { 0 };
	int len = parse(LINE);

	REQUIRE(len > 0);
	keys.list[0] = (struct ssh_key){ blob, (const uint8_t *)"me@host",
					 (uint32_t)len, 7 };
	keys.list[1] = (struct ssh_key){ (const uint8_t *)"x",
					 (const uint8_t *)"twice", 1, 5 };
	keys.list[2] = (struct ssh_key){ (const uint8_t *)"y",
					 (const uint8_t *)"twice", 1, 5 };
	keys.count = 3;
	CHECK(ssh_keys_find(&keys, "me@host", &err) == &keys.list[0]);
	CHECK(ssh_keys_find(&keys, FINGERPRINT, &err) == &keys.list[0]);
	CHECK(!ssh_keys_find(&keys, "me@hos", &err));
	CHECK(!ssh_keys_find(&keys, "", &err));
	CHECK(!ssh_keys_find(&keys, "SHA256:", &err));
	CHECK(!ssh_keys_find(&keys, "SHA256:x", &err) && !err.text[0]);
	CHECK(!ssh_keys_find(&keys, "twice", &err) &&
	      strstr(err.text, "more than one"));
}

int main(void)
{
	RUN(a_public_key_is_read);
	RUN(what_is_no_public_key_is_refused);
	RUN(comment_and_fingerprint_name_a_key);
	return DONE();
}
