/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_config.c - settings are taken whole or refused with a reason
 */
#include "net/config.h"

#include "base/error.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int kind = CONFIG_START; kind <= CONFIG_CHANGE; kind++) {
		struct error err = { 0 };
		struct config *config = config_parse(data, size, kind, &err);

		FUZZ_CHECK(config || err.text[0]);
		FUZZ_CHECK(!config || config->policy);
		FUZZ_CHECK(!config || !config->sandbox == (kind != 0));
		config_free(config);
	}
	return 0;
}
