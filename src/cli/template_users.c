/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_users.c - which sandboxes stand on a template
 */
#include "cli/template_users.h"

#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "provision/template.h"

#define LISTED_MAX 8

AUTO_DEFINE(json, json_t *, json_decref)

/* The content counts; of a damaged template only the name is known. */
static bool stands_on(const struct sandbox_record *record,
		      const struct template *template)
{
	if (template->id)
		return !strcmp(record->template_id, template->id);
	return !strcmp(record->template_name, template->name);
}

json_t *template_users(const struct store *store,
		       const struct template *template)
{
	json_t *names = json_array();

	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

		if (store_find(store, store->names[i], &sandbox, NULL) == 0 &&
		    stands_on(&sandbox.record, template))
			json_array_append_new(names,
					      json_string(store->names[i]));
	}
	return names;
}

int template_users_none(const struct store *store,
			const struct template *template, struct error *err)
{
	AUTO(json) json_t *names = template_users(store, template);
	size_t count = json_array_size(names), listed = 0;
	char list[LISTED_MAX * (SANDBOX_NAME_MAX + 2) + 32] = "";

	if (!count)
		return 0;
	for (; listed < count && listed < LISTED_MAX; listed++) {
		size_t len = strlen(list);

		text_format(list + len, sizeof(list) - len, "%s%s",
			    len ? ", " : "",
			    json_string_value(json_array_get(names, listed)));
	}
	if (listed < count) {
		size_t len = strlen(list);

		text_format(list + len, sizeof(list) - len, " and %zu more",
			    count - listed);
	}
	return error_set(err, 0,
			 "template %s: %zu sandbox%s on it (%s): remove %s "
			 "first with `bawn rm`",
			 template->name, count,
			 count == 1 ? " stands" : "es stand", list,
			 count == 1 ? "it" : "them");
}

bool template_users_of_content(void *ctx, const char *id)
{
	const struct store *store = ctx;
	struct template content = { .id = (char *)id };
	AUTO(json) json_t *names = NULL;

	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

		/* one that cannot be read may stand on anything */
		if (store_find(store, store->names[i], &sandbox, NULL) < 0)
			return true;
	}
	names = template_users(store, &content);
	return json_array_size(names) > 0;
}
