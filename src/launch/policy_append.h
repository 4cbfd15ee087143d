/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_append.h - one more rule for a sandbox: in its file, in its settings
 */
#pragma once

#include <jansson.h>

struct error;

#define POLICY_APPEND_FILE "policy"
#define POLICY_APPEND_LOCK "policy.lock"
#define POLICY_APPEND_MAX (1u << 20)

/*
 * A line that is there already is not added. err->code is EWOULDBLOCK when
 * somebody edits the file just now.
 */
int policy_append_file(int folder, const char *line, struct error *err);
/* The same for the text of scope "sandbox" in the network's settings. */
void policy_append_settings(json_t *settings, const char *line);
