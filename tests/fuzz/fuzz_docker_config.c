/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_config.c - files with logins, and answers of helpers
 */
#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"
#include "oci/docker_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct docker_config_answer answer;
	struct login login;
	struct error err;

	if (docker_config_find(data, size, "h", &answer, &err) == 0)
		FUZZ_CHECK(!strchr(answer.helper, '/'));
	docker_config_find(data, size, "docker.io", &answer, &err);
	docker_config_parse_helper(data, size, &login, &err);
	return 0;
}
