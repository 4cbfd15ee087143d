/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_registry_url.c - where a registry sends us
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "image/registry_url.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	char to[HTTP_URL_MAX];
	struct error err;
	bool same;

	if (registry_url_join("https://reg.example/v2/x/blobs/", text, to,
			      &same, &err) == 0) {
		/* never without encryption */
		FUZZ_CHECK(text_starts(to, "https://"));
		FUZZ_CHECK(!same || text_starts(to, "https://reg.example/") ||
			   text_starts(to, "https://reg.example:443/"));
		(void)registry_url_add(to, "digest", "sha256:ab cd", &err);
	}
	if (registry_url_join("http://127.0.0.1:5000/v2/", text, to, &same,
			      &err) == 0)
		FUZZ_CHECK(!strchr(to, '\n'));
	free(text);
	return 0;
}
