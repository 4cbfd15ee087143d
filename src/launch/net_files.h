/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_files.h - sandboxes/NAME/net/: what outlives a bawn-net
 *
 *   names          ADDRESS NAME, one line for each name ever asked for
 *   log.jsonl      what was allowed and refused; older ones are log.jsonl.1
 *                  (the newest) to log.jsonl.3
 *   ca.crt, ca.key the sandbox's authority; bawn-ca makes them
 */
#pragma once

#include <jansson.h>

struct error;

#define NET_FILES_LOG_MAX (8 << 20) /* then the next one is begun */
#define NET_FILES_LOGS 4            /* with the current one */

/* Made if missing. */
int net_files_folder(int sandbox_folder, struct error *err);
/*
 * {"certificate", "key"}, caller owns it; null when there is none: then nothing
 * can be intercepted.
 */
json_t *net_files_authority(int folder);
/* For reading and appending. */
int net_files_names(int folder, struct error *err);
/*
 * For appending. One that is full moves aside first, whoever asks for it: a
 * bawn-net that was taken over cannot make the launcher drop its traces.
 */
int net_files_log(int folder, struct error *err);
