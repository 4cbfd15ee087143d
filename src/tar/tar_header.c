/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_header.c - the 512 bytes in front of each entry, and their numbers
 */
#include "tar/tar_header.h"

#include <string.h>

bool tar_header_put(char *field, size_t size, uint64_t value)
{
	bool fits = value >> (3 * (size - 1)) == 0;

	if (!fits)
		value = 0;
	field[size - 1] = '\0';
	for (size_t i = size - 1; i-- > 0; value >>= 3)
		field[i] = (char)('0' + (value & 7));
	return fits;
}

/* Big-endian; the first byte holds the mark and, when negative, ones. */
static int get_binary(const unsigned char *field, size_t size, int64_t *value)
{
	bool negative = field[0] == 0xff;
	uint64_t bits = negative ? UINT64_MAX : 0;

	if (field[0] != 0x80 && !negative)
		return -1;
	for (size_t i = 1; i < size; i++) {
		/* what is shifted out must be sign only, and so must the top */
		if (bits >> 55 != (negative ? 0x1ff : 0))
			return -1;
		bits = bits << 8 | field[i];
	}
	if (bits >> 63 != negative)
		return -1;
	*value = (int64_t)bits;
	return 0;
}

int tar_header_get(const char *field, size_t size, int64_t *value)
{
	size_t i = 0;
	uint64_t result = 0;

	if (field[0] & 0x80)
		return get_binary((const unsigned char *)field, size, value);
	while (i < size && field[i] == ' ')
		i++;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		result = result << 3 | (uint64_t)(field[i] - '0');
	for (; i < size; i++)
		if (field[i] != ' ' && field[i] != '\0')
			return -1;
	*value = (int64_t)result;
	return 0;
}

unsigned tar_header_sum(const struct tar_header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	const size_t from = offsetof(struct tar_header, checksum);
	unsigned sum = 0;

	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i - from < sizeof(header->checksum) ? ' ' : bytes[i];
	return sum;
}
