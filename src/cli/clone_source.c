/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_source.c - the git folder that clone mode clones from
 *
 * Only this folder is shared: what was never committed stays out of the
 * sandbox. No git runs here, because the folder may have been in other hands.
 */
#include "cli/clone_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/git_file.h"
#include "cli/git_folder.h"
#include "cli/share_parse.h"
#include "state/sandbox_record.h"

bool clone_mode(const struct sandbox_record *record)
{
	return !strcmp(record->mode, "clone");
}

void clone_source_release(struct clone_source *source)
{
	free(source->host);
	free(source->origin);
	*source = (struct clone_source){ 0 };
}

static mode_t type_in(const char *folder, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

static bool is_git_folder(const char *folder)
{
	return type_in(folder, "HEAD") && type_in(folder, "refs") == S_IFDIR &&
	       type_in(folder, "objects") == S_IFDIR;
}

/* What `.git` names, as a real path; NULL when it names nothing. */
static char *named_by_file(const char *workspace)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(GIT_FILE_MAX);
	AUTO_FREE char *path = xasprintf("%s/.git", workspace);
	AUTO_FREE char *named = NULL;
	AUTO_FREE char *whole = NULL;

	if (fileio_read(AT_FDCWD, path, &text, NULL) < 0 || !text.len)
		return NULL;
	named = git_file_line((const char *)text.data, text.len, "gitdir: ");
	if (!named)
		return NULL;
	whole = *named == '/' ? xstrdup(named)
			      : xasprintf("%s/%s", workspace, named);
	return realpath(whole, NULL);
}

/* A linked worktree has its own HEAD within the shared folder. */
static int of_file(const struct share_record *workspace, const char *shown,
		   struct clone_source *source, struct error *err)
{
	AUTO_FREE char *own = named_by_file(workspace->host);
	struct share_record git = { 0 };

	if (!own || git_folder_of(workspace, &git) < 0)
		return error_set(err, 0,
				 "%s: its .git names a repository that does "
				 "not know this folder",
				 shown);
	source->host = xstrdup(git.host);
	if (share_path_within(own, git.host))
		source->origin =
			xasprintf("%s%s", CLONE_ORIGIN, own + strlen(git.host));
	else
		source->origin = xstrdup(CLONE_ORIGIN);
	share_release(&git);
	return 0;
}

/* The folder above that has a repository; malloc'd, NULL: none has. */
static char *repository_above(const char *path)
{
	AUTO_FREE char *above = xstrdup(path);
	char *slash;

	while ((slash = strrchr(above, '/')) && slash != above) {
		*slash = '\0';
		if (type_in(above, ".git"))
			return TAKE_PTR(above);
	}
	return NULL;
}

static int not_a_top(const char *path, const char *shown, struct error *err)
{
	AUTO_FREE char *above = repository_above(path);
	char other[256];

	if (!above)
		return error_set(err, 0,
				 "%s is not the top folder of a git "
				 "repository, and clone mode needs one (\"git "
				 "init\" makes one)",
				 shown);
	text_printable(above, strlen(above), other, sizeof(other));
	return error_set(err, 0,
			 "%s is not the top folder of its git repository, "
			 "which clone mode needs: give %s",
			 shown, other);
}

static int find(const struct share_record *workspace, const char *shown,
		struct clone_source *source, struct error *err)
{
	mode_t type = type_in(workspace->host, ".git");

	if (type == S_IFREG)
		return of_file(workspace, shown, source, err);
	source->origin = xstrdup(CLONE_ORIGIN);
	if (type == S_IFDIR) {
		source->host = xasprintf("%s/.git", workspace->host);
	} else if (!type && is_git_folder(workspace->host)) {
		source->host = xstrdup(workspace->host);
		source->bare = true;
	} else if (type == S_IFLNK) {
		return error_set(err, 0,
				 "%s: its .git is a link; clone mode needs "
				 "the repository itself",
				 shown);
	}
	if (source->host && is_git_folder(source->host))
		return 0;
	return not_a_top(workspace->host, shown, err);
}

int clone_source_of(const struct share_record *workspace,
		    struct clone_source *source, struct error *err)
{
	AUTO_FREE char *info = NULL;
	char shown[256];

	*source = (struct clone_source){ 0 };
	text_printable(workspace->host, strlen(workspace->host), shown,
		       sizeof(shown));
	if (find(workspace, shown, source, err) < 0)
		return -1;
	info = xasprintf("%s/objects/info", source->host);
	if (type_in(info, "alternates"))
		return error_set(err, 0,
				 "%s: its objects lie in another repository, "
				 "which the sandbox does not see (\"git repack "
				 "-ad\" and removing objects/info/alternates "
				 "makes it whole)",
				 shown);
	return 0;
}
