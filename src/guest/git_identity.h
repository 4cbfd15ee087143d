/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity.h - who commits in the guest, as the host says
 *
 * It is git's system configuration, for every user and weaker than what a user
 * or a repository says. The text lies in /run and /etc/gitconfig includes it
 * first, so that a template's own lines win too, and none is left behind when
 * the host says nothing.
 */
#pragma once

#define GIT_IDENTITY_FILE "/run/bawn/gitconfig"

/*
 * text is a git configuration; "": none. What cannot be written is logged.
 * root stands before every path ("").
 */
void git_identity_install(const char *root, const char *text);
