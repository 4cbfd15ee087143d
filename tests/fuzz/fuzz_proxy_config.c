/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_proxy_config.c - proxy-config.json; what it becomes is a policy, and
 * written out and read again it is the same one
 */
#include "cli/proxy_config.h"

#include <string.h>

#include "base/buffer.h"
#include "lib/fuzz.h"
#include "policy/policy.h"

#define POLICY_MAX (1024u * 1024)

static void check_policy(struct buffer *text)
{
	struct policy_source source = { .scope = POLICY_SANDBOX,
					.name = "import",
					.text = (const char *)text->data,
					.len = text->len };
	struct policy *policy = policy_compile(&source, 1, NULL);

	FUZZ_CHECK(policy);
	policy_free(policy);
}

static void check_again(struct buffer *text)
{
	AUTO_BUFFER struct buffer again = BUFFER_INIT(POLICY_MAX);
	json_t *config = proxy_config_new(false);
	char *file;

	proxy_config_add(config, (const char *)text->data, text->len);
	file = json_dumps(config, JSON_COMPACT);
	FUZZ_CHECK(file);
	FUZZ_CHECK(proxy_config_read(file, strlen(file), &again, NULL) == 0);
	check_policy(&again);
	free(file);
	json_decref(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUFFER struct buffer policy = BUFFER_INIT(POLICY_MAX);

	if (proxy_config_read((const char *)data, size, &policy, NULL) < 0)
		return 0;
	check_policy(&policy);
	check_again(&policy);
	return 0;
}
