/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_file.h - the files of proxy-config.json shape, where scripts for the
 * `docker sandbox` spelling look for them
 *
 *   ~/.sandboxd/proxy-config.json                    for new sandboxes
 *   ~/.docker/sandboxes/vm/NAME/proxy-config.json    as NAME is now
 *
 * The home folder may be shared with a sandbox by force: no link is followed
 * beneath it, and what a sandbox can write is not believed.
 */
#pragma once

struct buffer;
struct error;
struct sandbox;
struct store;

/* 1 and the policy for a new sandbox; 0 when there is no such file. */
int proxy_file_default(const struct store *store, struct buffer *policy,
		       struct error *err);

enum proxy_file_when {
	PROXY_FILE_KEEP, /* only where there is one */
	PROXY_FILE_MAKE,
};

/* Writes the sandbox's file as its policy is now. */
int proxy_file_update(const struct sandbox *sandbox, enum proxy_file_when when,
		      struct error *err);
/* With the sandbox goes its file; nothing else in that folder. */
void proxy_file_remove(const char *name);
