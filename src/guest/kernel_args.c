/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_args.c - words of the kernel command line that are meant for us
 */
#include "guest/kernel_args.h"

#include "guest/slice.h"

struct kernel_args kernel_args_parse(const char *text, size_t len)
{
	struct kernel_args args = { 0 };
	struct slice rest = { text, len }, line, word;

	if (!slice_line(&rest, &line))
		return args;
	while (slice_cut(&line, ' ', &word)) {
		if (slice_equals(word, "bawn.prime"))
			args.prime = true;
		if (slice_equals(word, "bawn.debug"))
			args.debug = true;
	}
	return args;
}
