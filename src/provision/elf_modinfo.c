/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_modinfo.c - what a kernel module says about itself
 */
#include "provision/elf_modinfo.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

struct bytes {
	const uint8_t *at;
	size_t len;
};

static bool slice(struct bytes file, uint64_t offset, uint64_t len,
		  struct bytes *out)
{
	if (offset > file.len || len > file.len - offset)
		return false;
	*out = (struct bytes){ file.at + offset, (size_t)len };
	return true;
}

static bool section(struct bytes file, const Elf64_Ehdr *head, unsigned i,
		    Elf64_Shdr *out)
{
	struct bytes raw;

	/* 64 bits hold the sum: i and the entry's size have 16 each. */
	if (head->e_shoff > file.len ||
	    !slice(file, head->e_shoff + (uint64_t)i * head->e_shentsize,
		   sizeof(*out), &raw))
		return false;
	memcpy(out, raw.at, sizeof(*out));
	return true;
}

static bool is_named(struct bytes names, uint32_t offset, const char *name)
{
	size_t len = strlen(name) + 1;

	return offset <= names.len && len <= names.len - offset &&
	       memcmp(names.at + offset, name, len) == 0;
}

/* The content of .modinfo; false when there is none or it lies outside. */
static bool modinfo(struct bytes file, const Elf64_Ehdr *head,
		    struct bytes *out)
{
	Elf64_Shdr names_head, here;
	struct bytes names;

	if (!section(file, head, head->e_shstrndx, &names_head) ||
	    !slice(file, names_head.sh_offset, names_head.sh_size, &names))
		return false;
	for (unsigned i = 0; i < head->e_shnum; i++) {
		if (!section(file, head, i, &here))
			return false;
		if (is_named(names, here.sh_name, ".modinfo"))
			return here.sh_type != SHT_NOBITS &&
			       slice(file, here.sh_offset, here.sh_size, out);
	}
	return false;
}

static int copy(const uint8_t *from, size_t len, char *value, size_t size,
		struct error *err)
{
	if (len >= size)
		return error_set(err, 0,
				 "the module's information is too long");
	memcpy(value, from, len);
	value[len] = '\0';
	return 1;
}

int elf_modinfo_find(const void *elf, size_t len, const char *key, char *value,
		     size_t size, struct error *err)
{
	struct bytes file = { elf, len }, info, raw;
	size_t key_len = strlen(key);
	Elf64_Ehdr head;

	value[0] = '\0';
	if (!slice(file, 0, sizeof(head), &raw))
		return error_set(err, 0, "not a kernel module");
	memcpy(&head, raw.at, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(err, 0, "not a 64-bit kernel module");
	if (!modinfo(file, &head, &info))
		return error_set(err, 0, "the module has no readable .modinfo");
	while (info.len > 0) {
		const uint8_t *end = memchr(info.at, 0, info.len);
		size_t part = end ? (size_t)(end - info.at) : info.len;

		if (part > key_len && info.at[key_len] == '=' &&
		    memcmp(info.at, key, key_len) == 0)
			return copy(info.at + key_len + 1, part - key_len - 1,
				    value, size, err);
		part += end ? 1 : 0;
		info.at += part;
		info.len -= part;
	}
	return 0;
}
