/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pkt_filter.c - the first byte is how the stream is cut; whole and in
 * pieces give the same, and no escape is left outside of band 1
 */
#include "cli/pkt_filter.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pkt_filter whole = { 0 }, cut = { 0 };
	size_t step = size ? data[0] % 7u + 1 : 1;
	uint8_t *a, *b;
	int first, second = 0;

	if (size < 2)
		return 0;
	data++;
	size--;
	a = malloc(size);
	b = malloc(size);
	FUZZ_CHECK(a && b);
	memcpy(a, data, size);
	memcpy(b, data, size);
	first = pkt_filter(&whole, a, size);
	for (size_t at = 0; at < size && second == 0; at += step)
		second = pkt_filter(&cut, b + at,
				    size - at < step ? size - at : step);
	FUZZ_CHECK(first == second);
	FUZZ_CHECK(first < 0 || !memcmp(a, b, size));
	for (size_t i = 0; i < size; i++)
		FUZZ_CHECK(first < 0 || a[i] == data[i] || a[i] == '?');
	free(a);
	free(b);
	return 0;
}
