/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_base_record.c - what is parsed is written as it was read
 */
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "changes/base_file.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = xstrndup((const char *)data, size);
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1u << 20);
	struct base_record record, again;

	if (base_record_parse(text, &record) < 0)
		return 0;
	FUZZ_CHECK(*record.path);
	FUZZ_CHECK(base_record_encode(&record, &out) == 0);
	FUZZ_CHECK(base_record_parse((const char *)out.data, &again) == 0);
	FUZZ_CHECK(base_record_same(&record, &again) &&
		   record.kind == again.kind &&
		   !strcmp(record.path, again.path));
	return 0;
}
