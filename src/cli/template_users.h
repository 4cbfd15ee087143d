/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_users.h - which sandboxes stand on a template
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct error;
struct store;
struct template;

/* Names of those on this template: by its content, or by its name. */
json_t *template_users(const struct store *store,
		       const struct template *template);
/* -1 with a text that names them when there are any. */
int template_users_none(const struct store *store,
			const struct template *template, struct error *err);
/* For template_prune(): ctx is a struct store. */
bool template_users_of_content(void *ctx, const char *id);
