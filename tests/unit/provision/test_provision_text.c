/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_provision_text.c - small parsers: NAME.ini, apt's answer, module names
 */
#include "base/error.h"
#include "lib/tap.h"
#include "provision/debian_package.h"
#include "provision/module_set.h"
#include "provision/template_ini.h"

static struct error err;

static void an_ini_is_read(void)
{
	struct template_ini ini;

	REQUIRE(template_ini_parse("# about\n\nbuilder = mmdebstrap\n"
				   "needs = 4G\n package=git \n"
				   "package = jq\nexclude = /usr/share/man/*\n",
				   &ini, &err) == 0);
	CHECK(!strcmp(ini.builder, "mmdebstrap"));
	CHECK(ini.needs_bytes == 4ull << 30);
	CHECK(!strcmp(ini.packages[0], "git"));
	CHECK(!strcmp(ini.packages[1], "jq") && !ini.packages[2]);
	CHECK(!strcmp(ini.excludes[0], "/usr/share/man/*"));
	CHECK(!ini.hook);
	template_ini_release(&ini);
}

static void a_wrong_ini_names_its_line(void)
{
	struct template_ini ini;

	CHECK(template_ini_parse("builder = a\nnonsense\n", &ini, &err) < 0);
	CHECK(strstr(err.text, "line 2") != NULL);
	CHECK(template_ini_parse("bilder = a\n", &ini, &err) < 0);
	CHECK(template_ini_parse("builder = a\nbuilder = b\n", &ini, &err) < 0);
	CHECK(template_ini_parse("builder = a\nneeds = much\n", &ini, &err) <
	      0);
	CHECK(template_ini_parse("", &ini, &err) < 0);
}

static void a_meta_package_is_resolved(void)
{
	char name[64];

	CHECK(debian_package_parse_depends(
		      "linux-image-cloud-amd64\n"
		      "  Depends: linux-base\n"
		      " |Depends: linux-image-6.1.0-54-cloud-amd64\n",
		      "linux-image-", name, sizeof(name)) == 0);
	CHECK(!strcmp(name, "linux-image-6.1.0-54-cloud-amd64"));
	CHECK(debian_package_parse_depends("x\n  Depends: y\n", "linux-", name,
					   sizeof(name)) < 0);
	CHECK(debian_package_parse_depends("", "linux-", name, sizeof(name)) <
	      0);
	CHECK(debian_package_parse_depends("  Depends: linux-long", "linux-",
					   name, 5) < 0);
}

static void module_names_have_one_spelling(void)
{
	char name[32];

	CHECK(module_set_name_of("/a/b/virtio-rng.ko", name, sizeof(name)) ==
		      0 &&
	      !strcmp(name, "virtio_rng"));
	CHECK(module_set_name_of("fuse.ko.xz", name, sizeof(name)) == 0 &&
	      !strcmp(name, "fuse"));
	CHECK(module_set_name_of("modules.dep", name, sizeof(name)) < 0);
	CHECK(module_set_name_of(".ko", name, sizeof(name)) < 0);
	CHECK(module_set_name_of("a.kolor", name, sizeof(name)) < 0);
}

int main(void)
{
	RUN(an_ini_is_read);
	RUN(a_wrong_ini_names_its_line);
	RUN(a_meta_package_is_resolved);
	RUN(module_names_have_one_spelling);
	return DONE();
}
