/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_oci_spec.c - settings of a container, and something added to them
 *
 * What was understood is understood with the additions, too, and nothing is
 * left to be added then.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/oci_spec.h"
#include "guest/runtime_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "SSL_CERT_FILE", "B", NULL };
static const char *const values[] = { "/a", "/b" };
static const struct runtime_mount mounts[] = { { "/from", "/to" } };

static void check(const char *text, size_t len, enum oci_spec_kind kind)
{
	struct runtime_additions additions = { names, values, mounts,
					       kind == OCI_SPEC_CONTAINER };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1 << 20);
	struct oci_spec spec, again;

	if (oci_spec_find(text, len, kind, names, &spec) < 0)
		return;
	if ((spec.env.end && text[spec.env.end] != ']') ||
	    (spec.mounts.end && text[spec.mounts.end] != ']'))
		abort();
	if (runtime_edit(text, len, &spec, &additions, &out) < 0)
		return;
	if (oci_spec_find((const char *)out.data, out.len, kind, names,
			  &again) < 0 ||
	    again.is_set != 3 || strcmp(again.root, spec.root) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check((const char *)data, size, OCI_SPEC_CONTAINER);
	check((const char *)data, size, OCI_SPEC_PROCESS);
	return 0;
}
