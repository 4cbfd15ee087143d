/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_clone_modules.c - what a guest says of its submodules
 */
#include "cli/clone_modules.h"

#include <stdlib.h>

#include "base/mem.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clone_modules *modules = xcalloc(1, sizeof(*modules));
	struct clone_module one;
	size_t at = 0;

	clone_modules_hear(modules, data, size);
	while (clone_modules_next(modules, &at, &one)) {
		FUZZ_CHECK(one.len && one.state < CLONE_MODULE_STATES);
		FUZZ_CHECK(one.path + one.len < modules->said + modules->len);
	}
	free(modules);
	return 0;
}
