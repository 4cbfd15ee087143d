/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_config.h - what bawn-files is told about a sandbox's folders
 * (files/config.h says what each key means)
 *
 * A share keeps its number as long as the machine runs, because the guest's
 * open files name it. sandboxes/NAME/files.json is the list as it runs.
 */
#pragma once

#include <jansson.h>

struct error;
struct sandbox;
struct sandbox_record;

/* From the record, for a start; caller owns it. */
json_t *files_config_make(const struct sandbox_record *record,
			  struct error *err);
/*
 * The running list brought in line with the record: what the record has no
 * more is gone, what it has anew stands at the end. Caller owns it.
 */
json_t *files_config_follow(const struct sandbox_record *record,
			    const json_t *running, struct error *err);

json_t *files_config_load(const struct sandbox *sandbox, struct error *err);
int files_config_save(const struct sandbox *sandbox, const json_t *files,
		      struct error *err);
/* The same in two steps: written before the machine is changed, then taken. */
int files_config_prepare(const struct sandbox *sandbox, const json_t *files,
			 struct error *err);
int files_config_commit(const struct sandbox *sandbox, struct error *err);
void files_config_cancel(const struct sandbox *sandbox);
