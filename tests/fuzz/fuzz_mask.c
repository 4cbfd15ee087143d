/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mask.c - a body in any pieces: as long as before, the secret is not in
 * it, and the pieces make no difference
 */
#include "net/mask.h"

#include <string.h>

#include "base/mem.h"
#include "lib/fuzz.h"

#define VALUE "sk-a/b"

static size_t pass(const struct mask_forms *forms, const uint8_t *data,
		   size_t size, size_t piece, uint8_t *out, bool pauses)
{
	struct mask mask;
	size_t at = 0;

	mask_init(&mask);
	mask_add(&mask, forms);
	for (size_t i = 0; i < size; i += piece) {
		size_t n = size - i < piece ? size - i : piece;

		at += mask_feed(&mask, data + i, n, out + at);
		if (pauses)
			at += mask_pause(&mask, out + at);
		FUZZ_CHECK(!pauses || at == i + n);
	}
	at += mask_end(&mask, out + at);
	mask_release(&mask);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mask_forms *forms;
	uint8_t *whole, *pieces;
	size_t piece;

	if (size < 2)
		return 0;
	piece = data[0] % 16 + 1;
	data++;
	size--;
	forms = mask_forms_new(VALUE, strlen(VALUE), NULL);
	FUZZ_CHECK(forms);
	whole = xmalloc(size + 1);
	pieces = xmalloc(size + 1);
	FUZZ_CHECK(pass(forms, data, size, size, whole, false) == size);
	FUZZ_CHECK(pass(forms, data, size, piece, pieces, false) == size);
	FUZZ_CHECK(memcmp(whole, pieces, size) == 0);
	FUZZ_CHECK(!memmem(whole, size, VALUE, strlen(VALUE)));
	FUZZ_CHECK(pass(forms, data, size, piece, pieces, true) == size);
	FUZZ_CHECK(!memmem(pieces, size, VALUE, strlen(VALUE)));
	free(whole);
	free(pieces);
	mask_forms_free(forms);
	return 0;
}
