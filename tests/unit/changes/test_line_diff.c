/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_line_diff.c - which lines differ, and that no fewer would do
 */
#include "changes/line_diff.h"

#include "base/buffer.h"
#include "lib/tap.h"

static size_t changed(const char *a, const char *b)
{
	AUTO_LINE_DIFF struct line_diff diff;
	size_t removed, added;

	line_diff_make(&diff, a, strlen(a), b, strlen(b));
	line_diff_stat(&diff, &removed, &added);
	return removed + added;
}

static void equal_texts_have_no_changes(void)
{
	CHECK(changed("", "") == 0);
	CHECK(changed("a\nb\n", "a\nb\n") == 0);
	CHECK(changed("a\nb", "a\nb") == 0);
}

static void a_missing_newline_is_a_change(void)
{
	CHECK(changed("a\nb\n", "a\nb") == 2);
}

static void changes_stand_where_they_belong(void)
{
	AUTO_LINE_DIFF struct line_diff diff;
	const char *a = "1\n2\n3\n4\n5\n", *b = "1\nx\n3\n4\n5\n6\n";

	line_diff_make(&diff, a, strlen(a), b, strlen(b));
	REQUIRE(diff.count == 2);
	CHECK(diff.changes[0].old_at == 1 && diff.changes[0].old_count == 1);
	CHECK(diff.changes[0].new_at == 1 && diff.changes[0].new_count == 1);
	CHECK(diff.changes[1].old_at == 5 && diff.changes[1].old_count == 0);
	CHECK(diff.changes[1].new_at == 5 && diff.changes[1].new_count == 1);
}

/* By the longest common subsequence, the slow way. */
static size_t fewest(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[16][16] = { { 0 } };

	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++)
			row[i][j] = a[i - 1] == b[j - 1] ? row[i - 1][j - 1] + 1
				    : row[i - 1][j] > row[i][j - 1]
					    ? row[i - 1][j]
					    : row[i][j - 1];
	return n + m - 2 * row[n][m];
}

static void no_fewer_changes_would_do(void)
{
	unsigned seed = 1;

	for (int round = 0; round < 3000; round++) {
		char a[16] = "", b[16] = "", x[40] = "", y[40] = "";
		size_t n, m;

		seed = seed * 1103515245u + 12345u;
		n = seed >> 16 & 15;
		m = seed >> 20 & 15;
		for (size_t i = 0; i < 15; i++) {
			seed = seed * 1103515245u + 12345u;
			a[i] = (char)('a' + (seed >> 16 & 3));
			b[i] = (char)('a' + (seed >> 20 & 3));
			x[2 * i] = i < n ? a[i] : '\0';
			x[2 * i + 1] = i < n ? '\n' : '\0';
			y[2 * i] = i < m ? b[i] : '\0';
			y[2 * i + 1] = i < m ? '\n' : '\0';
		}
		n = n > 15 ? 15 : n;
		if (changed(x, y) != fewest(a, n, b, m)) {
			CHECK(!"more changes than needed");
			return;
		}
	}
}

static void texts_that_differ_in_all_are_replaced(void)
{
	AUTO_BUFFER struct buffer a = BUFFER_INIT(1u << 20),
				  b = BUFFER_INIT(1u << 20);

	for (int i = 0; i < 5000; i++) {
		buffer_printf(&a, "old %d\n", i);
		buffer_printf(&b, "new %d\n", i);
	}
	CHECK(changed(buffer_str(&a), buffer_str(&b)) == 10000);
}

static void a_nul_near_the_beginning_is_binary(void)
{
	CHECK(line_diff_is_binary("a\0b", 3));
	CHECK(!line_diff_is_binary("a\nb", 3));
	CHECK(!line_diff_is_binary("", 0));
}

int main(void)
{
	RUN(equal_texts_have_no_changes);
	RUN(a_missing_newline_is_a_change);
	RUN(changes_stand_where_they_belong);
	RUN(no_fewer_changes_would_do);
	RUN(texts_that_differ_in_all_are_replaced);
	RUN(a_nul_near_the_beginning_is_binary);
	return DONE();
}
