/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_facts.c - in what a foreign snapshot differs, for people
 */
#include "state/snapshot.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define VALUE_MAX 160

struct fact {
	const char *name, *value;
	size_t name_len, value_len;
};

/* The next line that is one; *at moves on. */
static bool next_fact(const char **at, struct fact *fact)
{
	while (**at) {
		const char *line = *at;
		size_t len = strcspn(line, "\n");
		const char *colon = memmem(line, len, ": ", 2);

		*at = line + len + (line[len] == '\n');
		if (!colon)
			continue;
		*fact = (struct fact){
			.name = line,
			.name_len = (size_t)(colon - line),
			.value = colon + 2,
			.value_len = len - (size_t)(colon + 2 - line),
		};
		return true;
	}
	return false;
}

static bool find(const char *text, const struct fact *like, struct fact *fact)
{
	while (next_fact(&text, fact)) {
		if (fact->name_len == like->name_len &&
		    !memcmp(fact->name, like->name, like->name_len))
			return true;
	}
	return false;
}

int snapshot_refuse(struct error *err, int code, const char *text)
{
	/* With a code it would be followed by what that means. */
	error_set(err, 0, "%s", text);
	if (err)
		err->code = code;
	return -1;
}

int snapshot_difference(const char *kept, const char *here, char *text,
			size_t size)
{
	struct fact ours, theirs;

	while (next_fact(&here, &ours)) {
		char was[VALUE_MAX], is[VALUE_MAX];

		if (!find(kept, &ours, &theirs) ||
		    (ours.value_len == theirs.value_len &&
		     !memcmp(ours.value, theirs.value, ours.value_len)))
			continue;
		text_printable(theirs.value, theirs.value_len, was,
			       sizeof(was));
		text_printable(ours.value, ours.value_len, is, sizeof(is));
		text_format(text, size, "another %.*s (kept: %s, here: %s)",
			    (int)ours.name_len, ours.name, was, is);
		return 0;
	}
	return -1;
}
