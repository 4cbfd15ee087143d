/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_line_diff.c - the changes of two texts make one out of the other
 */
#include <string.h>

#include "changes/line_diff.h"
#include "lib/fuzz.h"

/* The lines from..to of both texts are the same. */
static void check_same(const struct line_diff *diff, size_t old_at,
		       size_t new_at, size_t count)
{
	const struct line_text *a = &diff->old_text, *b = &diff->new_text;
	size_t len;

	FUZZ_CHECK(old_at + count <= a->count && new_at + count <= b->count);
	len = a->starts[old_at + count] - a->starts[old_at];
	FUZZ_CHECK(len == b->starts[new_at + count] - b->starts[new_at]);
	FUZZ_CHECK(!len || !memcmp(a->bytes + a->starts[old_at],
				   b->bytes + b->starts[new_at], len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t old_len = zero ? (size_t)(zero - data) : 0;
	size_t old_at = 0, new_at = 0;
	struct line_diff diff;

	if (!zero || size > 20000)
		return 0;
	line_diff_make(&diff, (const char *)data, old_len,
		       (const char *)zero + 1, size - old_len - 1);
	for (size_t i = 0; i < diff.count; i++) {
		const struct line_change *change = &diff.changes[i];

		FUZZ_CHECK(change->old_count || change->new_count);
		FUZZ_CHECK(change->old_at >= old_at);
		FUZZ_CHECK(change->old_at - old_at == change->new_at - new_at);
		FUZZ_CHECK(!i || change->old_at > old_at);
		check_same(&diff, old_at, new_at, change->old_at - old_at);
		old_at = change->old_at + change->old_count;
		new_at = change->new_at + change->new_count;
	}
	FUZZ_CHECK(diff.old_text.count - old_at ==
		   diff.new_text.count - new_at);
	check_same(&diff, old_at, new_at, diff.old_text.count - old_at);
	line_diff_release(&diff);
	return 0;
}
