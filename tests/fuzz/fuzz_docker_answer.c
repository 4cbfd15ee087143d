/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_answer.c - more bytes never change what was told
 */
#include "wire/docker_answer.h"

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum docker_answer last = docker_answer_read(data, size);

	for (size_t len = 0; len < size; len += 1 + size / 64) {
		enum docker_answer answer = docker_answer_read(data, len);

		FUZZ_CHECK(answer == DOCKER_ANSWER_MORE || answer == last);
	}
	return 0;
}
