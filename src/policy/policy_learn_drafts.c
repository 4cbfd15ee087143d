/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_learn_drafts.c - rules before they are written down
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/method.h"
#include "policy/path_glob.h"
#include "policy/policy_learn_internal.h"

#define ROOM_FIRST 16

void learn_drafts_add(struct learn_drafts *drafts,
		      const struct learn_draft *draft)
{
	struct learn_draft *added;

	if (drafts->count == drafts->room) {
		drafts->room = drafts->room ? drafts->room * 2 : ROOM_FIRST;
		drafts->list = xrealloc(drafts->list,
					drafts->room * sizeof(*drafts->list));
	}
	added = &drafts->list[drafts->count++];
	*added = *draft;
	added->host = xstrdup(draft->host);
	added->path = draft->path ? xstrdup(draft->path) : NULL;
}

static void release_draft(struct learn_draft *draft)
{
	free(draft->host);
	free(draft->path);
}

void learn_drafts_release(struct learn_drafts *drafts)
{
	for (size_t i = 0; i < drafts->count; i++)
		release_draft(&drafts->list[i]);
	free(drafts->list);
	*drafts = (struct learn_drafts){ 0 };
}

/* Behind the first label; "" when there is none. */
static const char *parent_of(const struct learn_draft *draft)
{
	const char *dot = draft->is_name ? strchr(draft->host, '.') : NULL;

	return dot ? dot + 1 : "";
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* All but the first label: what must be equal for a wildcard. */
static int compare_families(const struct learn_draft *a,
			    const struct learn_draft *b)
{
	uint64_t left = (uint64_t)a->refused << 33 |
			(uint64_t)a->is_name << 32 | (uint64_t)a->low << 16 |
			a->high;
	uint64_t right = (uint64_t)b->refused << 33 |
			 (uint64_t)b->is_name << 32 | (uint64_t)b->low << 16 |
			 b->high;
	int order = compare_numbers(left, right);

	if (!order)
		order = compare_texts(parent_of(a), parent_of(b));
	if (!order)
		order = compare_numbers(a->methods, b->methods);
	return order ? order : compare_texts(a->path, b->path);
}

static int compare_siblings(const void *left, const void *right)
{
	const struct learn_draft *a = left, *b = right;
	int order = compare_families(a, b);

	return order ? order : strcmp(a->host, b->host);
}

static bool is_line(const char *text, size_t len, const char *line)
{
	return strlen(line) == len && memcmp(text, line, len) == 0;
}

/* The domain, or one that it is below, stands in the list. */
static bool is_listed(const char *domain, const char *list)
{
	for (; domain; domain = strchr(domain, '.')) {
		domain += *domain == '.';
		for (const char *at = list; *at;) {
			size_t len = strcspn(at, "\n");

			if (is_line(at, len, domain))
				return true;
			at += len + (at[len] == '\n');
		}
	}
	return false;
}

/*
 * co.uk, com.au: a short label before a country's is most likely nobody's own.
 * A wildcard that is not made costs some lines, a wrong one opens the gate.
 */
static bool is_shared(const char *domain, const char *list)
{
	const char *dot = strchr(domain, '.');

	if (!dot)
		return true;
	if (!strchr(dot + 1, '.') && strlen(dot + 1) == 2 && dot - domain <= 3)
		return true;
	return is_listed(domain, list);
}

static void make_wildcard(struct learn_draft *draft)
{
	char *host = xasprintf("*.%s", parent_of(draft));

	free(draft->host);
	draft->host = host;
}

void learn_drafts_merge(struct learn_drafts *drafts, const char *shared,
			size_t min)
{
	struct learn_draft *list = drafts->list;
	size_t kept = 0;

	if (drafts->count)
		qsort(list, drafts->count, sizeof(*list), compare_siblings);
	for (size_t i = 0, end; i < drafts->count; i = end) {
		bool merge;

		for (end = i + 1; end < drafts->count &&
				  compare_families(&list[i], &list[end]) == 0;)
			end++;
		merge = end - i >= min && list[i].is_name &&
			!is_shared(parent_of(&list[i]), shared);
		if (merge)
			make_wildcard(&list[i]);
		for (size_t j = i; j < end; j++) {
			if (merge && j > i)
				release_draft(&list[j]);
			else
				list[kept++] = list[j];
		}
	}
	drafts->count = kept;
}

/* By labels from the last to the first: what belongs together stands so. */
static int compare_domains(const char *a, const char *b)
{
	const char *left = a + strlen(a), *right = b + strlen(b);

	while (left > a && right > b) {
		const char *left_end = left, *right_end = right;
		size_t len;
		int order;

		while (left > a && left[-1] != '.')
			left--;
		while (right > b && right[-1] != '.')
			right--;
		len = (size_t)(left_end - left);
		if (len > (size_t)(right_end - right))
			len = (size_t)(right_end - right);
		order = memcmp(left, right, len);
		if (!order)
			order = compare_numbers((size_t)(left_end - left),
						(size_t)(right_end - right));
		if (order)
			return order;
		left -= left > a;
		right -= right > b;
	}
	return compare_numbers((size_t)(left - a), (size_t)(right - b));
}

static int compare_lines(const void *left, const void *right)
{
	const struct learn_draft *a = left, *b = right;

	if (a->refused != b->refused)
		return a->refused ? 1 : -1;
	if (a->is_name != b->is_name)
		return a->is_name ? -1 : 1;
	if (compare_domains(a->host, b->host))
		return compare_domains(a->host, b->host);
	return compare_siblings(a, b);
}

static int write_draft(const struct learn_draft *draft, struct buffer *out)
{
	char methods[METHODS_TEXT_SIZE] = "", path[PATH_GLOB_TEXT_SIZE] = "";
	bool brackets = strchr(draft->host, ':') && (draft->low || draft->path);
	char ports[16] = "";

	if (draft->methods != METHODS_ALL)
		method_list_format(draft->methods, methods);
	if (draft->path)
		path_glob_format(draft->path, path);
	if (draft->low == draft->high && draft->low)
		(void)text_format(ports, sizeof(ports), ":%u", draft->low);
	else if (draft->low)
		(void)text_format(ports, sizeof(ports), ":%u-%u", draft->low,
				  draft->high);
	return buffer_printf(out, "allow %s%s%s%s%s%s%s\n", methods,
			     *methods ? " " : "", brackets ? "[" : "",
			     draft->host, brackets ? "]" : "", ports, path);
}

static int compare_targets(const struct learn_draft *a,
			   const struct learn_draft *b)
{
	int order = compare_domains(a->host, b->host);

	if (!order)
		order = compare_numbers((uint64_t)a->low << 16 | a->high,
					(uint64_t)b->low << 16 | b->high);
	if (!order)
		order = compare_numbers(a->methods, b->methods);
	return order ? order : compare_texts(a->path, b->path);
}

static int compare_repeated(const void *left, const void *right)
{
	const struct learn_draft *a = left, *b = right;
	int order = compare_targets(a, b);

	return order ? order : (int)a->refused - (int)b->refused;
}

/* What was refused at first and allowed later needs one line. */
static void drop_repeated(struct learn_drafts *drafts)
{
	struct learn_draft *list = drafts->list;
	size_t kept = 0;

	qsort(list, drafts->count, sizeof(*list), compare_repeated);
	for (size_t i = 0; i < drafts->count; i++) {
		if (kept && compare_targets(&list[kept - 1], &list[i]) == 0)
			release_draft(&list[i]);
		else
			list[kept++] = list[i];
	}
	drafts->count = kept;
}

int learn_drafts_write(struct learn_drafts *drafts, struct buffer *out)
{
	const struct learn_draft *last = NULL;

	if (drafts->count)
		drop_repeated(drafts);
	if (drafts->count)
		qsort(drafts->list, drafts->count, sizeof(*drafts->list),
		      compare_lines);
	for (size_t i = 0; i < drafts->count; i++) {
		const struct learn_draft *draft = &drafts->list[i];

		if ((!last || last->refused != draft->refused) &&
		    buffer_printf(out, "%s# %s\n", last ? "\n" : "",
				  draft->refused
					  ? "was refused: look at each before "
					    "you allow it"
					  : "was allowed") < 0)
			return -1;
		if (write_draft(draft, out) < 0)
			return -1;
		last = draft;
	}
	return 0;
}
