/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_git_file.c - `.git` files and git's config: one line out, or nothing
 */
#include "cli/git_file.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char *line = git_file_line(text, size, "gitdir: ");
	char *tree = git_file_worktree(text, size);

	FUZZ_CHECK(!line || (*line && !strchr(line, '\n')));
	FUZZ_CHECK(!tree || (*tree && !strchr(tree, '\n')));
	FUZZ_CHECK(size <= GIT_FILE_MAX || (!line && !tree));
	free(line);
	free(tree);
	return 0;
}
