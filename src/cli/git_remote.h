/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_remote.h - the remote sandbox-NAME in a repository of the host
 */
#pragma once

struct error;

/*
 * git_folder is a real path; scratch is a folder of ours. A remote of that name
 * which is not ours stays as it is, and is an error.
 */
int git_remote_add(const char *git_folder, const char *name, int scratch,
		   struct error *err);
/* One that is not there, or not ours, is fine. */
int git_remote_remove(const char *git_folder, const char *name, int scratch,
		      struct error *err);
