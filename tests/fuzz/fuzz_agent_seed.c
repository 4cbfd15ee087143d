/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_agent_seed.c - a guest's settings, which ours are merged into
 */
#include "cli/agent_seed.h"

#include "base/buffer.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "{\"a\": {\"b\": [1, \"x\"], \"c\": true}, "
				   "\"p\": {\"/w\": {\"t\": true}}}";
	AUTO_BUFFER struct buffer out = BUFFER_INIT(AGENT_SEED_MAX);
	AUTO_BUFFER struct buffer again = BUFFER_INIT(AGENT_SEED_MAX);
	json_t *seed = json_loads(text, 0, NULL);

	FUZZ_CHECK(seed);
	/* what was merged once needs nothing more */
	if (agent_seed_update(data, size, seed, &out) == 1)
		FUZZ_CHECK(agent_seed_update(out.data, out.len, seed, &again) ==
			   0);
	json_decref(seed);
	return 0;
}
