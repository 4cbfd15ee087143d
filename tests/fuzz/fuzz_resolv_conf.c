/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_resolv_conf.c - whatever the file holds, there are 1 to 8 servers
 */
#include "launch/resolv_conf.h"

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct resolv_conf conf;

	resolv_conf_parse(data, size, &conf);
	FUZZ_CHECK(conf.count >= 1 && conf.count <= RESOLV_CONF_SERVERS_MAX);
	for (size_t i = 0; i < conf.count; i++)
		FUZZ_CHECK(conf.servers[i].family == ADDRESS_V4 ||
			   conf.servers[i].family == ADDRESS_V6);
	return 0;
}
