/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_modules.c - clone mode: submodules of the workspace
 */
#include "cli/clone_modules.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

/*
 * A linked worktree has repositories of its own for them. Names with a line's
 * end in them are none of git's own making.
 */
const char clone_modules_script[] =
	"modules() {\n"
	"	[ -f .gitmodules ] || return 0\n"
	"	git config -f .gitmodules --name-only --get-regexp "
	"'^submodule\\..*\\.path$' | while IFS= read -r key; do\n"
	"		name=${key#submodule.} name=${name%.path}\n"
	"		path=$(git config -f .gitmodules --get \"$key\")\n"
	"		from=$1/modules/$name\n"
	"		[ -d \"$from/objects\" ] || "
	"from=${1%%/worktrees/*}/modules/$name\n"
	"		if [ ! -d \"$from/objects\" ]; then\n"
	"			printf 'absent %s\\n' \"$2$path\"\n"
	"		elif git submodule --quiet init -- \"$path\" &&\n"
	"		     git config \"submodule.$name.url\" \"$from\" &&\n"
	"		     git -c protocol.file.allow=always submodule "
	"--quiet "
	"update -- \"$path\"; then\n"
	"			printf 'cloned %s\\n' \"$2$path\"\n"
	"			(cd -- \"$path\" && modules \"$from\" "
	"\"$2$path/\")\n"
	"		else\n"
	"			printf 'failed %s\\n' \"$2$path\"\n"
	"		fi\n"
	"	done\n"
	"}\n"
	"cd -- \"$1\" && modules \"$2\" ''\n";

void clone_modules_hear(struct clone_modules *modules, const uint8_t *bytes,
			size_t len)
{
	size_t left = sizeof(modules->said) - 1 - modules->len;

	if (len > left)
		len = left;
	memcpy(modules->said + modules->len, bytes, len);
	modules->len += len;
}

static const struct {
	const char *word, *why; /* why it is empty */
} states[] = {
	[CLONE_MODULE_CLONED] = { "cloned ", NULL },
	[CLONE_MODULE_ABSENT] = { "absent ",
				  "its repository is not in the host's git "
				  "folder (\"git submodule update --init\" on "
				  "the host brings it there, \"git submodule "
				  "absorbgitdirs\" moves an old one)" },
	[CLONE_MODULE_FAILED] = { "failed ", "the host's repository of it does "
					     "not have the commit that is "
					     "wanted, or git failed" },
};
static_assert(ARRAY_SIZE(states) == CLONE_MODULE_STATES, "a word for each");

static bool read_line(const char *line, size_t len, struct clone_module *one)
{
	for (unsigned i = 0; i < CLONE_MODULE_STATES; i++) {
		size_t word = strlen(states[i].word);

		if (len <= word || memcmp(line, states[i].word, word) != 0)
			continue;
		*one = (struct clone_module){ .state = i,
					      .path = line + word,
					      .len = len - word };
		return true;
	}
	return false;
}

bool clone_modules_next(const struct clone_modules *modules, size_t *at,
			struct clone_module *one)
{
	while (*at < modules->len) {
		const char *line = modules->said + *at;
		const char *end = memchr(line, '\n', modules->len - *at);

		/* The last one may have been cut. */
		if (!end)
			return false;
		*at += (size_t)(end - line) + 1;
		if (read_line(line, (size_t)(end - line), one))
			return true;
	}
	return false;
}

void clone_modules_tell(const struct clone_modules *modules, const char *name)
{
	size_t cloned = 0, others = 0, at = 0;
	struct clone_module one;
	char shown[300];

	while (clone_modules_next(modules, &at, &one)) {
		if (one.state == CLONE_MODULE_CLONED) {
			cloned++;
		} else if (others++ < CLONE_MODULES_SHOWN) {
			text_printable(one.path, one.len, shown, sizeof(shown));
			fprintf(stderr,
				"bawn: submodule %s is empty inside: %s\n",
				shown, states[one.state].why);
		}
	}
	if (cloned)
		fprintf(stderr,
			"bawn: %zu submodule%s cloned too (\"git -C PATH fetch "
			"bawn::%s:PATH\" brings commits of one back, before "
			"\"git fetch sandbox-%s\")\n",
			cloned, cloned == 1 ? " was" : "s were", name, name);
}
