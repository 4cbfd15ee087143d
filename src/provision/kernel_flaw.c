/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_flaw.c - kernels of the distribution that are known to crash
 *
 * A row ends with the last version that was seen to crash, not with the first
 * one that was seen not to: a kernel that nobody has tried yet may have fixes
 * that matter more.
 */
#include "provision/kernel_flaw.h"

#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "provision/debian_package.h"

#define VERSION_MAX 64

static const struct {
	const char *first, *last; /* upstream's versions, both included */
	const char *why;
} flaws[] = {
	/*
	 * ext4_mb_load_buddy_gfp follows NULL when the page that it looks for
	 * was reclaimed: after drop_caches, or when memory was short, the next
	 * removal of a file ends in an oops, and every later sync hangs.
	 */
	{ "6.1.191", "6.1.192", "crashes in ext4" },
};

/* "6.1.192-1" is upstream's 6.1.192. */
static void upstream_of(const char *version, char upstream[VERSION_MAX])
{
	text_format(upstream, VERSION_MAX, "%.*s",
		    (int)strspn(version, "0123456789."), version);
}

static bool is_between(const char *first, const char *version, const char *last)
{
	return strverscmp(first, version) <= 0 &&
	       strverscmp(version, last) <= 0;
}

const char *kernel_flaw(const char *version)
{
	char upstream[VERSION_MAX];

	upstream_of(version, upstream);
	for (size_t i = 0; i < ARRAY_SIZE(flaws); i++)
		if (is_between(flaws[i].first, upstream, flaws[i].last))
			return flaws[i].why;
	return NULL;
}

/* "" if apt does not know it. */
static void version_of(const char *text, const char *name,
		       char version[VERSION_MAX])
{
	struct debian_package package;

	version[0] = '\0';
	while (!version[0] && debian_package_next(&text, &package))
		if (strcmp(package.name, name) == 0)
			upstream_of(package.version, version);
}

const char *kernel_flaw_avoid(const char *text, const char *newest, char *name,
			      size_t size)
{
	char limit[VERSION_MAX], best[VERSION_MAX] = "", version[VERSION_MAX];
	struct debian_package package;
	const char *flaw;

	text_copy(name, size, newest);
	version_of(text, newest, limit);
	flaw = kernel_flaw(limit);
	while (flaw && debian_package_next(&text, &package)) {
		upstream_of(package.version, version);
		if (kernel_flaw(version) || strverscmp(version, limit) >= 0 ||
		    strverscmp(version, best) <= 0)
			continue;
		text_copy(best, sizeof(best), version);
		text_copy(name, size, package.name);
	}
	return flaw;
}
