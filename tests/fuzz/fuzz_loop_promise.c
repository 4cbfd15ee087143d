/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_loop_promise.c - the promises and faults in a text
 */
#include "loop/promise.h"

#include <string.h>

#include "lib/fuzz.h"
#include "loop/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct promise_words words = { "COMPLETE", "STOP",
						    "NEXT" };
	const char *text = (const char *)data;
	struct promises promises;

	promises_parse(text, size, &words, &promises);
	FUZZ_CHECK(promises.done_count <= PROMISE_TASKS_MAX);
	FUZZ_CHECK(memchr(promises.text, '\0', sizeof(promises.text)));
	FUZZ_CHECK(!promises.kind || memmem(data, size, "<promise>", 9));
	FUZZ_CHECK(fault_of_text(text, size) < FAULTS);
	FUZZ_CHECK(fault_retry_seconds(text, size) <= 21600);
	FUZZ_CHECK(fault_signature(text, size) != 0);
	return 0;
}
