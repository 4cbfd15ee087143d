/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_repos.h - repositories on GitHub that a workspace belongs to
 *
 * Those of the remotes in the git configuration of the workspace on the host,
 * which a guest cannot write (data/guard). A secret that names no repository
 * opens them.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct share_list;

#define GIT_REPOS_MAX 16
#define GIT_REPO_SIZE 142 /* OWNER/NAME with its NUL */

/*
 * OWNER/NAME of a URL as git takes it: https, ssh, or GIT@HOST:PATH; -1 when
 * it is none of github.com's, or written in an unusual way. Pure.
 */
int git_repos_parse(const char *url, char out[GIT_REPO_SIZE]);
/* Those of a git configuration into the list, each once. Pure. */
void git_repos_add(const char *config, size_t len, json_t *list);
/* Of the workspace, which is the first share; caller owns the list. */
json_t *git_repos_of(const struct share_list *shares);
