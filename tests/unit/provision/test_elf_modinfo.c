/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_elf_modinfo.c - what a kernel module says about itself
 */
#include "provision/elf_modinfo.h"

#include <elf.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/tap.h"

static struct error err;
static char value[64];

static const char info[] = "license=GPL\0depends=virtio,virtio_ring\0name=x";
static const char names[] = "\0.shstrtab\0.modinfo";

/* head, names, info, then three section headers */
static struct {
	Elf64_Ehdr head;
	char names[32];
	char info[64];
	Elf64_Shdr sections[3];
} module;

static void prepare(void)
{
	memset(&module, 0, sizeof(module));
	memcpy(module.head.e_ident, ELFMAG, SELFMAG);
	module.head.e_ident[EI_CLASS] = ELFCLASS64;
	module.head.e_ident[EI_DATA] = ELFDATA2LSB;
	module.head.e_shoff = offsetof(__typeof__(module), sections);
	module.head.e_shentsize = sizeof(Elf64_Shdr);
	module.head.e_shnum = 3;
	module.head.e_shstrndx = 1;
	memcpy(module.names, names, sizeof(names));
	memcpy(module.info, info, sizeof(info));
	module.sections[1].sh_name = 1;
	module.sections[1].sh_type = SHT_STRTAB;
	module.sections[1].sh_offset = offsetof(__typeof__(module), names);
	module.sections[1].sh_size = sizeof(names);
	module.sections[2].sh_name = 11;
	module.sections[2].sh_type = SHT_PROGBITS;
	module.sections[2].sh_offset = offsetof(__typeof__(module), info);
	module.sections[2].sh_size = sizeof(info);
}

static int find(const char *key)
{
	return elf_modinfo_find(&module, sizeof(module), key, value,
				sizeof(value), &err);
}

static void values_are_found(void)
{
	prepare();
	CHECK(find("depends") == 1 && !strcmp(value, "virtio,virtio_ring"));
	CHECK(find("license") == 1 && !strcmp(value, "GPL"));
	CHECK(find("name") == 1 && !strcmp(value, "x"));
	CHECK(find("na") == 0 && !strcmp(value, ""));
	CHECK(find("alias") == 0);
}

static void a_value_without_its_nul_is_cut_at_the_end(void)
{
	prepare();
	module.sections[2].sh_size = 20;
	CHECK(find("depends") == 1 && !strcmp(value, ""));
}

static void a_value_longer_than_the_room_is_an_error(void)
{
	prepare();
	CHECK(elf_modinfo_find(&module, sizeof(module), "depends", value, 10,
			       &err) < 0);
}

static void every_truncation_is_refused(void)
{
	prepare();
	for (size_t len = 0; len < sizeof(module); len++)
		CHECK(elf_modinfo_find(&module, len, "depends", value,
				       sizeof(value), &err) < 0);
}

static void lying_offsets_are_refused(void)
{
	prepare();
	module.head.e_shoff = UINT64_MAX;
	CHECK(find("depends") < 0);
	prepare();
	module.head.e_shstrndx = 60000;
	CHECK(find("depends") < 0);
	prepare();
	module.sections[2].sh_offset = UINT64_MAX - 4;
	CHECK(find("depends") < 0);
	prepare();
	module.sections[2].sh_size = UINT64_MAX;
	CHECK(find("depends") < 0);
	prepare();
	module.sections[1].sh_size = 12;
	CHECK(find("depends") < 0);
	prepare();
	module.head.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(find("depends") < 0);
}

int main(void)
{
	RUN(values_are_found);
	RUN(a_value_without_its_nul_is_cut_at_the_end);
	RUN(a_value_longer_than_the_room_is_an_error);
	RUN(every_truncation_is_refused);
	RUN(lying_offsets_are_refused);
	return DONE();
}
