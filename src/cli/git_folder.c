/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_folder.c - the git folder that a workspace needs and does not hold
 *
 * `.git` in the workspace may have been written by a guest that wants another
 * folder shared. It counts only when what it names is a worktree's or a
 * submodule's git folder that itself points back to this workspace: those files
 * lie outside of what the guest could write.
 */
#include "cli/git_folder.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/git_file.h"
#include "cli/share_path.h"
#include "state/share_list.h"

static int read_small(const char *folder, const char *name, struct buffer *text)
{
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return fileio_read(fd, name, text, NULL);
}

static char *line_of(const char *folder, const char *name, const char *prefix)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(GIT_FILE_MAX);

	if (read_small(folder, name, &text) < 0 || !text.len)
		return NULL;
	return git_file_line((const char *)text.data, text.len, prefix);
}

/* path, taken from folder when it is relative. */
static char *from(const char *folder, const char *path)
{
	return *path == '/' ? xstrdup(path) : xasprintf("%s/%s", folder, path);
}

static bool leads_to(const char *folder, const char *path, const char *target)
{
	AUTO_FREE char *whole = from(folder, path);
	AUTO_FREE char *real = realpath(whole, NULL);

	return real && !strcmp(real, target);
}

/* Cuts the last part off; false when there is none. */
static bool up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

/* own: …/worktrees/NAME; the folder that holds "worktrees", or NULL. */
static char *of_worktree(const struct share_record *workspace, const char *own)
{
	AUTO_FREE char *back = line_of(own, "gitdir", "");
	AUTO_FREE char *common = line_of(own, "commondir", "");
	AUTO_FREE char *file = xasprintf("%s/.git", workspace->host);
	AUTO_FREE char *main = xstrdup(own);

	if (!back || !common || !up(main))
		return NULL;
	if (!text_ends(main, "/worktrees") || !up(main))
		return NULL;
	if (!leads_to(own, back, file) || !leads_to(own, common, main))
		return NULL;
	return TAKE_PTR(main);
}

/* own: …/.git/modules/NAME, which says where its work tree is. */
static bool is_submodule(const struct share_record *workspace, const char *own)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(GIT_FILE_MAX);
	AUTO_FREE char *tree = NULL;

	if (!strstr(own, "/.git/modules/") ||
	    read_small(own, "config", &text) < 0 || !text.len)
		return false;
	tree = git_file_worktree((const char *)text.data, text.len);
	return tree && leads_to(own, tree, workspace->host);
}

/* Where git inside looks for it: as `.git` says, seen from the guest. */
static char *guest_path(const struct share_record *workspace, const char *named,
			const char *host, bool worktree)
{
	AUTO_FREE char *whole = from(workspace->guest, named);
	AUTO_FREE char *tidy = share_path_tidy(whole);
	AUTO_FREE char *real = NULL;

	if (worktree && (!up(tidy) || !up(tidy)))
		return xstrdup(host);
	/* a workspace at another place inside: only an absolute path counts */
	real = realpath(tidy, NULL);
	if (*named == '/' && (!real || strcmp(real, host)))
		return xstrdup(host);
	return TAKE_PTR(tidy);
}

int git_folder_of(const struct share_record *workspace,
		  struct share_record *git)
{
	AUTO_FREE char *named = line_of(workspace->host, ".git", "gitdir: ");
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *own = NULL;
	AUTO_FREE char *host = NULL;
	bool worktree;

	if (!named)
		return -1;
	path = from(workspace->host, named);
	own = realpath(path, NULL);
	if (!own)
		return -1;
	host = of_worktree(workspace, own);
	worktree = host;
	if (!host && is_submodule(workspace, own))
		host = xstrdup(own);
	if (!host)
		return -1;
	git->guest = guest_path(workspace, named, host, worktree);
	git->host = TAKE_PTR(host);
	git->read_only = workspace->read_only;
	git->added = true;
	return 0;
}
