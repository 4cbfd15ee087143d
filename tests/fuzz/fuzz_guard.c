/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_guard.c - lines of patterns, then a path; a folder is never held, what
 * is held stays so for a file system that folds case
 */
#include "base/guard.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/fuzz.h"

static enum guard_class classify(const struct guard_list *list, char *path,
				 mode_t type, bool folds)
{
	struct guard_entry entry = { .type = type, .folds_case = folds };
	char *slash = strrchr(path, '/');
	struct guard_state state;
	enum guard_class class;

	if (slash)
		*slash = '\0';
	entry.name = slash ? slash + 1 : path;
	guard_enter_share(list, "/a/.git/b", &state);
	guard_enter_path(list, slash ? path : "", &state);
	class = guard_classify(list, &state, &entry);
	guard_is_bound(list, &state, entry.name);
	if (slash)
		*slash = '/';
	return class;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guard_list list = { 0 };
	char text[2048], *line = text, *next;
	enum guard_class class;
	bool exceptions = false;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((next = strchr(line, '\n'))) {
		*next = '\0';
		exceptions |= *line == '!';
		guard_list_add(&list, GUARD_HELD, line);
		line = next + 1;
	}
	class = classify(&list, line, S_IFREG, false);
	FUZZ_CHECK(list.count || class == GUARD_FREE);
	FUZZ_CHECK(classify(&list, line, S_IFDIR, true) == GUARD_FREE);
	if (class == GUARD_HELD && !exceptions)
		FUZZ_CHECK(classify(&list, line, S_IFREG, true) == GUARD_HELD);
	if (class == GUARD_HELD)
		FUZZ_CHECK(classify(&list, line, S_IFLNK, false) == GUARD_HELD);
	guard_list_release(&list);
	return 0;
}
