/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_digest.c - the name of an image by the digest of its manifest
 */
#include "provision/template_digest.h"

#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/reference.h"
#include "provision/template_names.h"

#define ID_DIGITS_MIN 12 /* of an id that is not written out */

struct search {
	const char *id;
	char digest[80]; /* of those that were found */
	char name[REFERENCE_TEXT_MAX];
	bool differ;
};

static void compare(void *ctx, const struct template_name *name)
{
	struct search *search = ctx;
	const char *digest = name->image.manifest.digest;

	if (!name->has_image || !text_starts(digest, search->id))
		return;
	if (search->name[0] && strcmp(digest, search->digest) != 0)
		search->differ = true;
	if (search->name[0] && strcmp(name->reference, search->name) > 0)
		return;
	if (text_copy(search->name, sizeof(search->name), name->reference) < 0)
		search->name[0] = '\0';
	text_copy(search->digest, sizeof(search->digest), digest);
}

bool template_is_id(const char *text)
{
	const char *hex = text_starts(text, "sha256:") ? text + 7 : text;
	size_t len = strlen(hex);

	return len >= ID_DIGITS_MIN && len <= 64 &&
	       strspn(hex, "0123456789abcdef") == len;
}

int template_digest_find(const char *id, struct reference *reference,
			 struct error *err)
{
	static const enum paths_kind kinds[] = { PATHS_DATA, PATHS_SYSTEM };
	struct search search = { .id = id };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		template_name_each(kinds[i], compare, &search);
	if (search.differ)
		return error_set(err, 0,
				 "%s: there are several templates whose digest "
				 "begins so",
				 id);
	return search.name[0] &&
	       reference_parse(search.name, reference, NULL) == 0;
}
