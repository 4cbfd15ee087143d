/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ssh_agent.c - requests and answers of an ssh-agent
 */
#include "wire/ssh_agent.h"

#include <string.h>

#include "base/buffer.h"
#include "base/own.h"
#include "lib/fuzz.h"

/* What is filtered is a subset, and reads back as itself. */
static void filter(struct ssh_keys *keys, const struct ssh_keys *allowed)
{
	AUTO_BUFFER struct buffer out =
		BUFFER_INIT(SSH_AGENT_HEAD + SSH_AGENT_MESSAGE_MAX);
	static struct ssh_keys again;

	ssh_agent_keep(keys, allowed);
	for (size_t i = 0; i < keys->count; i++)
		FUZZ_CHECK(ssh_agent_find(allowed, keys->list[i].blob,
					  keys->list[i].len));
	if (ssh_agent_encode_keys(keys, &out) < 0)
		return;
	FUZZ_CHECK(ssh_agent_length(out.data) == out.len - SSH_AGENT_HEAD);
	FUZZ_CHECK(!ssh_agent_parse_keys(out.data + SSH_AGENT_HEAD,
					 out.len - SSH_AGENT_HEAD, &again));
	FUZZ_CHECK(again.count == keys->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ssh_keys allowed = {
		.list = { { .blob = (const uint8_t *)"KEY", .len = 3 } },
		.count = 1,
	};
	static struct ssh_keys keys;
	enum ssh_agent_request request =
		ssh_agent_request(&allowed, data, size);

	FUZZ_CHECK(request != SSH_AGENT_SIGN || memmem(data, size, "KEY", 3));
	ssh_agent_is_signature(data, size);
	if (ssh_agent_parse_keys(data, size, &keys) == 0)
		filter(&keys, &allowed);
	return 0;
}
