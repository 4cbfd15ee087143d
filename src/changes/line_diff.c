/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_diff.c - which lines of two texts differ
 *
 * For d = 0, 1, 2 … the furthest point that d insertions and deletions reach
 * is found on each diagonal k = x - y; one row of these points is kept for
 * each d, and the way back through the rows is the difference.
 */
#include "changes/line_diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define DIFFERENCES_MAX 1500
#define BINARY_LOOK 8000

struct search {
	struct line_diff *diff;
	uint64_t *old_hashes, *new_hashes; /* owned; of the lines */
	size_t from;                       /* lines that are equal in front */
	long old_count, new_count;         /* of what is between */
};

static void split(struct line_text *text, const char *bytes, size_t len)
{
	size_t room = 16;

	*text = (struct line_text){ .bytes = bytes, .len = len };
	text->starts = xmalloc(room * sizeof(size_t));
	for (size_t at = 0; at < len;) {
		const char *end = memchr(bytes + at, '\n', len - at);

		if (text->count + 2 > room) {
			room *= 2;
			text->starts =
				xrealloc(text->starts, room * sizeof(size_t));
		}
		text->starts[text->count++] = at;
		at = end ? (size_t)(end - bytes) + 1 : len;
	}
	text->starts[text->count] = len;
}

static uint64_t *hash_lines(const struct line_text *text)
{
	uint64_t *hashes = xcalloc(text->count + 1, sizeof(*hashes));

	for (size_t i = 0; i < text->count; i++)
		hashes[i] = text_hash_more(
			TEXT_HASH_START, text->bytes + text->starts[i],
			text->starts[i + 1] - text->starts[i]);
	return hashes;
}

static bool same(const struct search *search, size_t old_at, size_t new_at)
{
	const struct line_text *a = &search->diff->old_text;
	const struct line_text *b = &search->diff->new_text;
	size_t len = a->starts[old_at + 1] - a->starts[old_at];

	return search->old_hashes[old_at] == search->new_hashes[new_at] &&
	       len == b->starts[new_at + 1] - b->starts[new_at] &&
	       !memcmp(a->bytes + a->starts[old_at],
		       b->bytes + b->starts[new_at], len);
}

/* Changes are found from the last to the first. */
static void add(struct line_diff *diff, size_t old_at, size_t old_count,
		size_t new_at, size_t new_count)
{
	struct line_change *last =
		diff->count ? &diff->changes[diff->count - 1] : NULL;

	if (last && old_at + old_count == last->old_at &&
	    new_at + new_count == last->new_at) {
		last->old_at = old_at;
		last->new_at = new_at;
		last->old_count += old_count;
		last->new_count += new_count;
		return;
	}
	if (diff->count == diff->room) {
		diff->room = diff->room * 2 + 16;
		diff->changes = xrealloc(diff->changes,
					 diff->room * sizeof(*diff->changes));
	}
	diff->changes[diff->count++] =
		(struct line_change){ old_at, old_count, new_at, new_count };
}

static long slide(const struct search *search, long x, long y)
{
	while (x < search->old_count && y < search->new_count &&
	       same(search, search->from + (size_t)x, search->from + (size_t)y))
		x++, y++;
	return x;
}

/* Whether the way to diagonal k comes from above (an insertion). */
static bool comes_down(const long *row, long d, long k)
{
	return k == -d || (k != d && row[k - 1] < row[k + 1]);
}

/* rows[d] is indexed by k from -d to d; a row has room for -d-1 and d+1. */
static long *new_row(long d)
{
	long *row = xcalloc((size_t)(2 * d + 3), sizeof(long));

	return row + d + 1;
}

static void free_rows(long **rows, long count)
{
	for (long d = 0; d < count; d++)
		free(rows[d] - d - 1);
	free(rows);
}

static void walk_back(const struct search *search, long **rows, long d)
{
	long x = search->old_count, y = search->new_count;

	for (; d > 0; d--) {
		const long *before = rows[d - 1];
		long k = x - y;
		bool down = comes_down(before, d, k);
		long from_k = down ? k + 1 : k - 1;
		long from_x = before[from_k], from_y = from_x - from_k;

		add(search->diff, search->from + (size_t)from_x, !down,
		    search->from + (size_t)from_y, down);
		x = from_x;
		y = from_y;
	}
}

/* Fills rows[d]; true when the end of both texts is reached. */
static bool advance(const struct search *search, long **rows, long d)
{
	long *row = rows[d];

	for (long k = -d; k <= d; k += 2) {
		const long *before = d ? rows[d - 1] : NULL;
		long x = !before                    ? 0
			 : comes_down(before, d, k) ? before[k + 1]
						    : before[k - 1] + 1;

		row[k] = slide(search, x, x - k);
		if (row[k] >= search->old_count &&
		    row[k] - k >= search->new_count)
			return true;
	}
	return false;
}

static void find(struct search *search)
{
	long **rows = xcalloc(DIFFERENCES_MAX + 1, sizeof(*rows));
	long d;

	for (d = 0; d <= DIFFERENCES_MAX; d++) {
		rows[d] = new_row(d);
		if (advance(search, rows, d))
			break;
	}
	if (d <= DIFFERENCES_MAX)
		walk_back(search, rows, d);
	else
		add(search->diff, search->from, (size_t)search->old_count,
		    search->from, (size_t)search->new_count);
	free_rows(rows, d <= DIFFERENCES_MAX ? d + 1 : DIFFERENCES_MAX + 1);
}

static void reverse(struct line_diff *diff)
{
	for (size_t i = 0; i < diff->count / 2; i++) {
		struct line_change kept = diff->changes[i];

		diff->changes[i] = diff->changes[diff->count - 1 - i];
		diff->changes[diff->count - 1 - i] = kept;
	}
}

void line_diff_make(struct line_diff *diff, const char *old_bytes,
		    size_t old_len, const char *new_bytes, size_t new_len)
{
	struct search search = { .diff = diff };
	size_t a, b;

	*diff = (struct line_diff){ .changes = NULL };
	split(&diff->old_text, old_bytes, old_len);
	split(&diff->new_text, new_bytes, new_len);
	search.old_hashes = hash_lines(&diff->old_text);
	search.new_hashes = hash_lines(&diff->new_text);
	a = diff->old_text.count;
	b = diff->new_text.count;
	while (search.from < a && search.from < b &&
	       same(&search, search.from, search.from))
		search.from++;
	while (a > search.from && b > search.from &&
	       same(&search, a - 1, b - 1))
		a--, b--;
	search.old_count = (long)(a - search.from);
	search.new_count = (long)(b - search.from);
	if (!search.old_count || !search.new_count) {
		if (search.old_count || search.new_count)
			add(diff, search.from, (size_t)search.old_count,
			    search.from, (size_t)search.new_count);
	} else {
		find(&search);
	}
	reverse(diff);
	free(search.old_hashes);
	free(search.new_hashes);
}

void line_diff_release(struct line_diff *diff)
{
	free(diff->old_text.starts);
	free(diff->new_text.starts);
	free(diff->changes);
	*diff = (struct line_diff){ .changes = NULL };
}

void line_diff_stat(const struct line_diff *diff, size_t *removed,
		    size_t *added)
{
	*removed = *added = 0;
	for (size_t i = 0; i < diff->count; i++) {
		*removed += diff->changes[i].old_count;
		*added += diff->changes[i].new_count;
	}
}

bool line_diff_is_binary(const char *bytes, size_t len)
{
	return memchr(bytes, '\0', len < BINARY_LOOK ? len : BINARY_LOOK);
}
