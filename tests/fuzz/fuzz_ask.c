/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ask.c - whatever bawn-net asks, the rule of it is one plain line
 */
#include "launch/asks.h"

#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES, NULL);
	char line[ASK_RULE_SIZE];
	struct authority target;
	struct error err;
	struct ask ask;
	json_t *shown;

	if (ask_parse(json, &ask, &err) == 0) {
		ask_rule(&ask, ASK_ALWAYS, line);
		FUZZ_CHECK(!strncmp(line, "allow ", 6));
		/* It reads back as the same target, and as nothing more. */
		FUZZ_CHECK(authority_parse(line + 6, strlen(line + 6),
					   &target) == 0);
		FUZZ_CHECK(target.port == ask.target.port &&
			   !strcmp(target.host, ask.target.host));
		shown = ask_json(&ask);
		FUZZ_CHECK(shown);
		json_decref(shown);
	}
	json_decref(json);
	return 0;
}
