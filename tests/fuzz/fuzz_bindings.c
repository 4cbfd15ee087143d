/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_bindings.c - a list of secrets; one that is taken can be asked
 */
#include "net/bindings.h"

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bindings *list = bindings_parse(data, size, NULL);

	if (!list)
		return 0;
	(void)bindings_have_host(list, "api.test", 443);
	for (size_t i = 0; i < list->count; i++) {
		const struct binding *one = &list->list[i];

		FUZZ_CHECK(one->hosts && one->where && one->header_count);
		FUZZ_CHECK(!one->value == !one->forms);
		FUZZ_CHECK(bindings_find(list, one->name));
	}
	FUZZ_CHECK(bindings_ref(list) == list);
	bindings_unref(list);
	bindings_unref(list);
	return 0;
}
