/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_git_file.c - `.git` files and git's config: lines out, or nothing
 */
#include "cli/git_config.h"
#include "cli/git_file.h"
#include "cli/git_repos.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *at = text;
	struct git_setting setting = { .key = "" };
	char *line = git_file_line(text, size, "gitdir: ");
	json_t *repos = json_array();
	char *tree = git_file_worktree(text, size);

	FUZZ_CHECK(!line || (*line && !strchr(line, '\n')));
	FUZZ_CHECK(!tree || (*tree && !strchr(tree, '\n')));
	FUZZ_CHECK(size <= GIT_FILE_MAX || (!line && !tree));
	while (git_config_next(&at, text + size, &setting)) {
		FUZZ_CHECK(setting.key[0] && setting.value[0]);
		FUZZ_CHECK(strlen(setting.value) < sizeof(setting.value));
		git_config_is_path(&setting);
		git_config_is_command(&setting);
	}
	git_repos_add(text, size, repos);
	FUZZ_CHECK(json_array_size(repos) <= GIT_REPOS_MAX);
	json_decref(repos);
	free(line);
	free(tree);
	return 0;
}
