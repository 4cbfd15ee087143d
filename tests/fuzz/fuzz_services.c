/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_services.c - a file of services; what is taken can be bound to a secret
 */
#include "state/services.h"

#include "lib/fuzz.h"
#include "state/secret_bindings.h"
#include "state/secret_store.h"

static void bind(const json_t *services, const char *name)
{
	static const char empty[] = "{\"version\": 1, \"secrets\": [], "
				    "\"placeholders\": {}}";
	json_t *own = secret_store_parse(empty, sizeof(empty) - 1, NULL);
	json_t *list;

	FUZZ_CHECK(own);
	FUZZ_CHECK(secret_store_put(own,
				    json_pack("{s:s, s:i, s:s, s:[s]}", "name",
					      name, "set", 1, "value", "v",
					      "repos", "o/n"),
				    NULL) == 0);
	list = secret_bindings_make(services, NULL, own, NULL);
	FUZZ_CHECK(json_array_size(list) == 1);
	FUZZ_CHECK(secret_bindings_fill(list, services, own) == 1);
	json_decref(list);
	json_decref(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *list = services_parse(data, size, NULL), *item;
	size_t i;

	json_array_foreach(list, i, item)
		bind(list, json_string_value(json_object_get(item, "name")));
	json_decref(list);
	return 0;
}
