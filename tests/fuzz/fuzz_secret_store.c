/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_secret_store.c - a file of secrets; what is taken is taken again when
 * it was written, and can be bound
 */
#include "state/secret_store.h"

#include <string.h>

#include "lib/fuzz.h"
#include "state/secret_bindings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *store = secret_store_parse(data, size, NULL), *again, *list;
	json_t *services;
	char *text;

	if (!store)
		return 0;
	text = json_dumps(store, JSON_COMPACT);
	FUZZ_CHECK(text);
	again = secret_store_parse(text, strlen(text), NULL);
	FUZZ_CHECK(again && json_equal(store, again));
	services = json_array();
	list = secret_bindings_make(services, store, again, NULL);
	(void)secret_bindings_fill(list, services, again);
	free(text);
	text = json_dumps(again, JSON_COMPACT);
	json_decref(again);
	again = secret_store_parse(text, strlen(text), NULL);
	FUZZ_CHECK(again);
	free(text);
	json_decref(list);
	json_decref(services);
	json_decref(again);
	json_decref(store);
	return 0;
}
