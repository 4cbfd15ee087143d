/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_provision_text.c - small parsers: NAME.ini, apt's answer, module names
 */
#include <stdbool.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "provision/debian_package.h"
#include "provision/module_set.h"
#include "provision/npm_registry.h"
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

static void steps_keep_their_order(void)
{
	struct template_ini ini;

	REQUIRE(template_ini_parse("builder = npm\nfrom = base\n"
				   "npm = @a/b latest -x\ntake = a b\n"
				   "npm = c 1.0\nlink = t p\ncheck = c -v\n",
				   &ini, &err) == 0);
	CHECK(!strcmp(ini.from, "base") && !strcmp(ini.check, "c -v"));
	CHECK(!strcmp(ini.steps[0], "npm @a/b latest -x"));
	CHECK(!strcmp(ini.steps[1], "take a b"));
	CHECK(!strcmp(ini.steps[2], "npm c 1.0"));
	CHECK(!strcmp(ini.steps[3], "link t p") && !ini.steps[4]);
	template_ini_release(&ini);
}

static void a_vendor_is_asked_behind_rules(void)
{
	struct error err = { 0 };
	struct template_ini ini;

	REQUIRE(template_ini_parse("builder = vendor\nvendor = https://v/i\n"
				   "install = sh \"$INSTALLER\" && x=1\n"
				   "allow = v\nallow = *.v:8443\n",
				   &ini, &err) == 0);
	CHECK(!strcmp(ini.vendor, "https://v/i"));
	CHECK(!strcmp(ini.install, "sh \"$INSTALLER\" && x=1"));
	CHECK(!strcmp(ini.allows[0], "v") &&
	      !strcmp(ini.allows[1], "*.v:8443"));
	CHECK(!ini.allows[2]);
	template_ini_release(&ini);
}

static bool registry_is(const char *text, const char *expected)
{
	AUTO_FREE char *found = npm_registry_parse(text);

	return expected ? found && !strcmp(found, expected) : !found;
}

static void the_registry_of_an_npmrc_is_found(void)
{
	CHECK(registry_is("", NULL));
	CHECK(registry_is("fund=false\n# registry=no\n", NULL));
	CHECK(registry_is("registry=https://a.test/", "https://a.test/"));
	CHECK(registry_is("a=1\r\n registry = \"https://a.test\" \r\nb\n",
			  "https://a.test"));
	CHECK(registry_is("registry=x\nregistry=y\n", "y"));
	CHECK(registry_is("@a:registry=x\n", NULL));
	CHECK(registry_is("registry=${HOME}/x\n", NULL));
	CHECK(registry_is("registry=\n", NULL));
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
	RUN(steps_keep_their_order);
	RUN(a_vendor_is_asked_behind_rules);
	RUN(the_registry_of_an_npmrc_is_found);
	RUN(a_wrong_ini_names_its_line);
	RUN(a_meta_package_is_resolved);
	RUN(module_names_have_one_spelling);
	return DONE();
}
