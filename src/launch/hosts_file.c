/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts_file.c - names and addresses in /etc/hosts
 */
#include "launch/hosts_file.h"

#include "launch/line_words.h"
#include "wire/hostname.h"

size_t hosts_file_parse(const void *bytes, size_t len, size_t max,
			hosts_file_fn *fn, void *ctx)
{
	struct line_words line = { .rest = bytes, .left = len };
	size_t found = 0;

	while (found < max && line_words_next(&line)) {
		struct address address;

		if (line.count < 2 ||
		    address_parse(line.words[0], line.lens[0], &address) < 0)
			continue;
		for (size_t i = 1; i < line.count && found < max; i++) {
			char name[HOSTNAME_MAX + 1];

			if (hostname_canonical(line.words[i], line.lens[i],
					       name) < 0)
				continue;
			fn(ctx, name, &address);
			found++;
		}
	}
	return found;
}
