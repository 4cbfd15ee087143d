/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_change_set.c - sets of changes: sorted, each path in a folder of the
 * set, names of one file alike, attributes of users alone
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "changes/change_set.h"
#include "lib/fuzz.h"

static void check_attributes(const struct attributes *attributes)
{
	for (size_t i = 0; i < attributes->count; i++) {
		const char *name = attributes->items[i].name;

		FUZZ_CHECK(text_starts(name, "user.") && name[5]);
		FUZZ_CHECK(!i ||
			   strcmp(name, attributes->items[i - 1].name) > 0);
	}
	FUZZ_CHECK(attributes_same(attributes, attributes));
	FUZZ_CHECK(!attributes_hash(attributes) == !attributes->count);
}

static void check_names(const struct change_set *set,
			const struct set_entry *entry)
{
	size_t count, own = 0;
	const struct set_entry *const *names =
		change_set_names(set, entry, &count);

	FUZZ_CHECK(count > 1 && S_ISREG(entry->mode) && !entry->deleted);
	for (size_t i = 0; i < count; i++) {
		FUZZ_CHECK(names[i]->linked &&
			   names[i]->offset == entry->offset &&
			   names[i]->size == entry->size &&
			   names[i]->mode == entry->mode);
		own += names[i] == entry;
	}
	FUZZ_CHECK(own == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_CHANGE_SET struct change_set set = CHANGE_SET_INIT;
	struct error err = { 0 };
	int fd = memfd_create("set", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (change_set_load(&set, fd, &err) < 0)
		return 0;
	for (size_t i = 0; i < set.count; i++) {
		const struct set_entry *entry = &set.entries[i];

		FUZZ_CHECK(*entry->path && *entry->path != '/');
		FUZZ_CHECK(!i || strcmp(entry->path, entry[-1].path) > 0);
		FUZZ_CHECK(entry->offset + entry->size <= size);
		FUZZ_CHECK(S_ISLNK(entry->mode) == !!entry->target);
		check_attributes(&entry->attributes);
		if (entry->linked)
			check_names(&set, entry);
	}
	return 0;
}
